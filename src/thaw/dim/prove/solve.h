// Solving an equation for a symbol.
#pragma once

#include <optional>

#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

// The expression e with `lhs == rhs` exactly when symbol == e (for integers), where the equation is linear in the
// symbol and the division is exact as a polynomial (3*n + 2 == m has none: m - 2 need not divide by 3). The symbol
// must not stand inside floor, mod, min, max or broadcast. nullopt otherwise.
std::optional<Dim> solve_for(Dim symbol, Dim lhs, Dim rhs);

}  // namespace thaw::dim
