#include "thaw/lift/obligations.h"

#include <algorithm>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/input_facts.h"

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
  const infer::Result facts = infer::infer(lifted, scope, with_shapes(shapes));
  const dim::Assignment broken = assignment_at(variables, broken_at);
  const std::vector<dim::Assignment> traces = assignments_in_traces(variables),
                                     elsewhere = assignments_at(variables, others);
  for (const ops::Obligation& needed : facts.obligations()) {
    if (!traced.contains(needed.node) || needed.only_specified || needed.is_enough || needed.of_values) continue;
    const Dim distance = distance_of(needed);
    if (!distance.is_symbolic() || dim::evaluate(distance, broken).value_or(0) == 0) continue;
    const auto is_met = [&](const dim::Assignment& at) { return dim::evaluate(distance, at) == 0; };
    if (std::ranges::all_of(traces, is_met) && std::ranges::all_of(elsewhere, is_met))
      return Undecided{distance, Dim(0), "", needed.node->describe()};
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
