#include "thaw/lift/untold/sign_limits.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <vector>

#include "thaw/lift/unseen/unseen_sizes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

std::vector<Limit> sign_limits(const Lifting& l) {
  const auto assignments = [&](bool from_one) {
    std::vector<std::vector<int64_t>> sizes = l.solver->unseen();
    std::ranges::move(extreme_sizes(l.variables, from_one), std::back_inserter(sizes));
    return assignments_at(l.variables, sizes);
  };
  const std::vector<dim::Assignment> larger = assignments(false), any = assignments(true);
  std::vector<Limit> limits;
  std::set<std::tuple<const dim::Expr*, Limit::Of, bool>> seen;
  const auto add = [&](dim::Dim size, Limit::Of of, bool at_any) {
    if (!size.is_symbolic() || !seen.emplace(size.expr(), of, at_any).second) return;
    const std::vector<int64_t> at = in_traces(size, l.variables);
    if (at.empty() || std::ranges::min(at) < 0) return;
    const auto is_below = [&](const dim::Assignment& sizes) { return dim::evaluate(size, sizes).value_or(0) < 0; };
    if (std::ranges::any_of(at_any ? any : larger, is_below)) limits.push_back({dim::Dim(0), size, of});
  };
  for (const FittedTable& table : l.tables) {
    bool pads = false, takes = false;
    for (const Difference* reader : table.readers) {
      const ops::Role role = ops::role_of(*reader->node, reader->input);
      pads |= role == ops::Role::kPads;
      takes |= ops::holds_size(role);
    }
    for (const dim::Dim size : takes ? table.fit.sizes : std::vector<dim::Dim>()) add(size, Limit::Of::kSign, pads);
    for (const dim::Dim length : table.fit.growing) add(length, Limit::Of::kTable, false);
  }
  return limits;
}

}  // namespace thaw::lifting
