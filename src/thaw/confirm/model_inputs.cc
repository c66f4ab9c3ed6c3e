#include "thaw/confirm/model_inputs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/infer/moved_values.h"

namespace thaw::confirm {
namespace {

bool is_one_element(const ops::Fact& fact) {
  return fact.shape && std::ranges::all_of(*fact.shape, [](dim::Dim d) { return d.is_constant(1); });
}

// Elementwise, of two operands, with truth values for a result.
bool compares(const infer::Result& facts, const ir::Node& node, const ops::Operator& op) {
  return op.is_elementwise() && node.inputs().size() == 2 && node.output(0) != nullptr &&
         facts.fact(node.output(0)).dtype == ir::DataType::kBool;
}

// Which numbers a model knows a setting by: a sample rate that it compares with 16000 and with 8000. For each integer input of one
// element that reaches, through nodes that only move or convert elements, a comparison with a constant of one element: those
// constants, in the order of the file, each once. facts: of the same model.
std::map<std::string, std::vector<int64_t>> compared_numbers(const ir::Model& model, const infer::Result& facts) {
  std::map<std::string, std::vector<int64_t>> found;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->type.kind != ir::Type::Kind::kTensor || !ir::is_integer(input->type.elem_type)) continue;
    if (!is_one_element(facts.fact(input))) continue;
    std::vector<int64_t> numbers;
    infer::visit_reads(*input, [&](const ir::Use& use, const ops::Operator& op) {
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

}  // namespace

void limit_to(const infer::IntegerRange& range, run::InputSpec& input) {
  input.lowest = range.lowest;
  input.index_bound = range.bound;
  input.is_distinct = range.is_distinct;
}

ModelInputs look_at_inputs(const ir::Model& model, dim::Scope& scope) {
  infer::Result facts = infer::infer(model, scope);
  const std::map<std::string, infer::IntegerRange> ranges = infer::integer_ranges(model, facts);
  const std::map<std::string, std::vector<int64_t>> compared = compared_numbers(model, facts);
  ModelInputs found;
  for (const ir::Value* value : model.graph->inputs()) {
    run::InputSpec& input = found.inputs.emplace_back();
    input.name = value->name();
    input.kind = value->type.kind;
    input.dtype = value->type.elem_type;
    if (input.kind == ir::Type::Kind::kOptional && value->type.element) input.dtype = value->type.element->elem_type;
    input.dims = facts.fact(value).shape;
    input.has_default = value->initializer() != nullptr || value->sparse_initializer() != nullptr;
    if (const auto range = ranges.find(input.name); range != ranges.end()) limit_to(range->second, input);
    if (const auto numbers = compared.find(input.name); numbers != compared.end()) input.choices = numbers->second;
  }
  // A branch's needs are those of one side only.
  for (const ops::Obligation& o : facts.obligations())
    if (o.node != nullptr && o.node->graph() == model.graph.get()) found.conditions.push_back({o.kind, o.a, o.b});
  for (const ir::Value* output : model.graph->outputs()) {
    const ops::Fact& fact = facts.fact(output);
    if (fact.shape && std::ranges::any_of(*fact.shape, [](dim::Dim d) { return d.is_constant(0); }))
      found.empty_outputs.insert(output->name());
  }
  found.facts = std::move(facts);
  return found;
}

std::vector<run::InputSpec> model_inputs(const ir::Model& model, dim::Scope& scope) {
  return look_at_inputs(model, scope).inputs;
}

}  // namespace thaw::confirm
