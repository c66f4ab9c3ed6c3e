#include "thaw/infer/compared_numbers.h"

#include <algorithm>
#include <unordered_set>

#include "thaw/ops/rule/registry.h"

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
    std::vector<const ir::Value*> waiting{input};
    std::unordered_set<const ir::Value*> seen{input};
    std::vector<int64_t> numbers;
    while (!waiting.empty()) {
      const ir::Value* value = waiting.back();
      waiting.pop_back();
      for (const ir::Use& use : value->uses()) {
        const ops::Operator* op = ops::registry().find(*use.node);
        if (op == nullptr) continue;
        const ir::Value* other = compares(facts, *use.node, *op) ? use.node->input(1 - use.index) : nullptr;
        const ir::Tensor* constant = other != nullptr && !other->is_input() ? other->constant() : nullptr;
        if (constant != nullptr && ir::is_integer(constant->data_type) && constant->num_elements() == 1) {
          const int64_t number = constant->to_int64().front();
          if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
        }
        const bool passes = op->passes_numbers() && op->operands[use.index] == ops::Role::kData;
        const ir::Value* moved = passes ? use.node->output(0) : nullptr;
        if (moved != nullptr && seen.insert(moved).second) waiting.push_back(moved);
      }
    }
    if (!numbers.empty()) found.emplace(input->name(), std::move(numbers));
  }
  return found;
}

}  // namespace thaw::infer
