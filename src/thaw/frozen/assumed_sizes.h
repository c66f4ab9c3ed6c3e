// Solving for the input sizes at which a model was frozen.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ops/rule/obligation.h"

namespace thaw::frozen {

struct AssumedSizes {
  dim::Assignment values;
  std::set<int> guessed;  // symbols whose value is one of several that would do: only what they make together is known
};

// The statement without the sizes that both sides have as factors: [length, batch, 32] as [7, 4*batch, 8] says that length is 7,
// whatever the batch is. Sizes that a model was frozen at are not 0.
ops::Obligation without_common_sizes(const ops::Obligation& obligation);

// Values for symbols that satisfy the obligations "expression == constant" (and broadcasts with a constant other than
// 1) best. `known` holds what is certain already. Symbols that no such obligation tells are left out. Bounded work: the
// first few dozen equations of a symbol decide, and values up to 2^15 are tried where an equation is not linear. A
// product of sizes (h*w = 660) is split into factors near each other, even ones where there are such.
AssumedSizes solve_assumed_sizes(dim::Scope& scope, std::span<const ops::Obligation> obligations, AssumedSizes known);

// Other values for what was solved for, at which all that holds at `assumed_sizes` holds too: a few of them, far apart. What an
// expression comes to at `assumed_sizes` but not there does not follow from the graph.
std::vector<dim::Assignment> other_solutions(std::span<const ops::Obligation> obligations,
                                             const AssumedSizes& assumed_sizes);

}  // namespace thaw::frozen
