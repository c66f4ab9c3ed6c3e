#include "thaw/confirm/model_inputs.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "thaw/infer/compared_numbers.h"
#include "thaw/infer/infer.h"

namespace thaw::confirm {
namespace {

dim::Relation relation_of(ops::ObligationKind kind) {
  switch (kind) {
    case ops::ObligationKind::kEqual:
      return dim::Relation::kEqual;
    case ops::ObligationKind::kBroadcast:
      return dim::Relation::kBroadcastable;
    case ops::ObligationKind::kDivisible:
      return dim::Relation::kDivisible;
    case ops::ObligationKind::kAtMost:
      return dim::Relation::kAtMost;
  }
  return dim::Relation::kEqual;
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
  const std::map<std::string, std::vector<int64_t>> compared = infer::compared_numbers(model, facts);
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
    if (o.node != nullptr && o.node->graph() == model.graph.get())
      found.conditions.push_back({relation_of(o.kind), o.a, o.b});
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
