// Solving for the input sizes at which a model was frozen.
#pragma once

#include <span>

#include "thaw/dim/scope.h"
#include "thaw/ops/context.h"

namespace thaw::infer {

// Values for symbols that satisfy the obligations "expression == constant" (and broadcasts with a constant other than 1) best.
// `known` holds what is certain already. Symbols that no such obligation tells are left out. Bounded work: the first few
// dozen equations of a symbol decide, and values up to 2^15 are tried where an equation is not linear.
dim::Assignment solve_hints(dim::Scope& scope, std::span<const ops::Obligation> obligations, dim::Assignment known);

}  // namespace thaw::infer
