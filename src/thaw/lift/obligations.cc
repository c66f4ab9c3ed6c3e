#include "thaw/lift/obligations.h"

#include <algorithm>

#include "thaw/infer/infer.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

// What is 0 where it holds.
Dim distance_of(const ops::Obligation& needed) {
  switch (needed.kind) {
    case dim::Relation::kAtMost:
      return dim::max(needed.a - needed.b, Dim(0));
    case dim::Relation::kDivisible:
      return dim::mod(needed.a, dim::max(needed.b, Dim(1)));
    case dim::Relation::kEqual:
    case dim::Relation::kBroadcastable:
      break;
  }
  return needed.a - needed.b;
}

}  // namespace

std::optional<Undecided> need_at(const ir::Model& lifted,
                                 const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                                 std::span<const Variable> variables, dim::Scope& scope,
                                 const std::unordered_set<const ir::Node*>& traced,
                                 const std::vector<int64_t>& broken_at,
                                 const std::vector<std::vector<int64_t>>& others) {
  infer::InferOptions options;
  for (const auto& [input, shape] : shapes)  // any order: each is set for itself
    if (std::ranges::all_of(shape, &Dim::is_known))
      options.inputs[input] = ops::Fact::tensor(input->type.elem_type, shape);
  const infer::Result facts = infer::infer(lifted, scope, options);
  const dim::Assignment broken = assignment_of(variables, [&](size_t i) { return broken_at[i]; });
  std::vector<dim::Assignment> good;
  for (const std::vector<int64_t>& sizes : others)
    good.push_back(assignment_of(variables, [&](size_t i) { return sizes[i]; }));
  for (size_t k = 0; k < variables.front().at.size(); ++k)
    good.push_back(assignment_of(variables, [&](size_t i) { return variables[i].at[k]; }));
  for (const ops::Obligation& needed : facts.obligations()) {
    if (!traced.contains(needed.node) || needed.only_specified || needed.is_enough || needed.of_values) continue;
    const Dim distance = distance_of(needed);
    if (!distance.is_symbolic() || dim::evaluate(distance, broken).value_or(0) == 0) continue;
    const auto is_met = [&](const dim::Assignment& at) { return dim::evaluate(distance, at) == 0; };
    if (std::ranges::all_of(good, is_met)) return Undecided{distance, Dim(0), "", needed.node->describe()};
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
