#include "thaw/infer/compared_numbers.h"

#include <algorithm>

#include "thaw/infer/moved_values.h"

namespace thaw::infer {
namespace {

bool is_one_element(const ops::Fact& fact) {
  return fact.shape && std::ranges::all_of(*fact.shape, [](dim::Dim d) { return d.is_constant(1); });
}

// Elementwise, of two operands, with truth values for a result.
bool compares(const Result& facts, const ir::Node& node, const ops::Operator& op) {
  return op.is_elementwise() && node.inputs().size() == 2 && node.output(0) != nullptr &&
         facts.fact(node.output(0)).dtype == ir::DataType::kBool;
}

}  // namespace

std::map<std::string, std::vector<int64_t>> compared_numbers(const ir::Model& model, const Result& facts) {
  std::map<std::string, std::vector<int64_t>> found;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->type.kind != ir::Type::Kind::kTensor || !ir::is_integer(input->type.elem_type)) continue;
    if (!is_one_element(facts.fact(input))) continue;
    std::vector<int64_t> numbers;
    visit_reads(*input, [&](const ir::Use& use, const ops::Operator& op) {
      const ir::Value* other = compares(facts, *use.node, op) ? use.node->input(1 - use.index) : nullptr;
      const ir::Tensor* constant = other != nullptr && !other->is_input() ? other->constant() : nullptr;
      if (constant == nullptr || !ir::is_integer(constant->data_type) || constant->num_elements() != 1) return;
      const int64_t number = constant->to_int64().front();
      if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
    });
    if (!numbers.empty()) found.emplace(input->name(), std::move(numbers));
  }
  return found;
}

}  // namespace thaw::infer
