#include "thaw/lift/domain/needs.h"

#include <algorithm>

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

bool counts(const ops::Obligation& needed, const std::unordered_set<const ir::Node*>& traced) {
  return traced.contains(needed.node) && !needed.only_specified && !needed.is_enough && !needed.of_values;
}

}  // namespace

const infer::Result& Needs::facts() const {
  if (!facts_) facts_ = infer::infer(lifted_, scope_, with_shapes(shapes_));
  return *facts_;
}

std::vector<Undecided> Needs::missed_at(const std::vector<dim::Assignment>& broken,
                                        const std::vector<dim::Assignment>& others, size_t most) const {
  std::vector<Undecided> missed;
  if (broken.empty()) return missed;
  const std::vector<dim::Assignment> traces = assignments_in_traces(variables_);
  std::unordered_set<const dim::Expr*> seen;
  for (const ops::Obligation& needed : facts().obligations()) {
    if (missed.size() == most) break;
    const Dim distance = counts(needed, traced_) ? distance_of(needed) : Dim();
    if (!distance.is_symbolic() || !seen.insert(distance.expr()).second) continue;
    const auto is_missed = [&](const dim::Assignment& at) {
      return dim::holds(needed.kind, needed.a, needed.b, at) == false;
    };
    const auto is_0 = [&](const dim::Assignment& at) { return dim::evaluate(distance, at) == 0; };
    if (std::ranges::any_of(broken, is_missed) && std::ranges::all_of(traces, is_0) &&
        std::ranges::all_of(others, is_0))
      missed.push_back({distance, Dim(0), "", needed.node->describe()});
  }
  return missed;
}

}  // namespace thaw::lifting
