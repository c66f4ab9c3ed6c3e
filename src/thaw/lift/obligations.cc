#include "thaw/lift/obligations.h"

#include <algorithm>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/input_facts.h"
#include "thaw/lift/unseen_sizes.h"

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

bool counts(const ops::Obligation& needed, const std::unordered_set<const ir::Node*>& traced) {
  return traced.contains(needed.node) && !needed.only_specified && !needed.is_enough && !needed.of_values;
}

bool is_0_at_all(Dim distance, const std::vector<dim::Assignment>& points) {
  return std::ranges::all_of(points, [&](const dim::Assignment& at) { return dim::evaluate(distance, at) == 0; });
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
    const Dim distance = counts(needed, traced) ? distance_of(needed) : Dim();
    if (!distance.is_symbolic() || dim::evaluate(distance, broken).value_or(0) == 0) continue;
    if (is_0_at_all(distance, traces) && is_0_at_all(distance, elsewhere))
      return Undecided{distance, Dim(0), "", needed.node->describe()};
  }
  return std::nullopt;
}

std::vector<Undecided> needs_outside(const ir::Model& lifted,
                                     const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                                     std::span<const Variable> variables, dim::Scope& scope,
                                     const std::unordered_set<const ir::Node*>& traced, const Domain& domain,
                                     const std::vector<std::vector<int64_t>>& others) {
  constexpr size_t kMost = 8;
  std::vector<Undecided> needs;
  std::vector<dim::Assignment> outside = assignments_at(variables, sizes_outside(variables));
  std::erase_if(outside, [&](const dim::Assignment& at) { return !domain.has(at); });
  if (outside.empty()) return needs;
  const infer::Result facts = infer::infer(lifted, scope, with_shapes(shapes));
  const std::vector<dim::Assignment> traces = assignments_in_traces(variables),
                                     elsewhere = assignments_at(variables, others);
  std::unordered_set<const dim::Expr*> seen;
  for (const ops::Obligation& needed : facts.obligations()) {
    const Dim distance = counts(needed, traced) ? distance_of(needed) : Dim();
    if (!distance.is_symbolic() || !seen.insert(distance.expr()).second) continue;
    const auto is_missed = [&](const dim::Assignment& at) {
      return dim::holds(needed.kind, needed.a, needed.b, at) == false;
    };
    if (std::ranges::none_of(outside, is_missed) || !is_0_at_all(distance, traces) || !is_0_at_all(distance, elsewhere))
      continue;
    needs.push_back({distance, Dim(0), "", needed.node->describe()});
    if (needs.size() == kMost) break;
  }
  return needs;
}

}  // namespace thaw::lifting
