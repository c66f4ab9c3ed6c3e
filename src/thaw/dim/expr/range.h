// The interval an expression lies in: range_of of dim/expr/scope.h, and its pieces. Internal to dim/.
#pragma once

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/poly.h"

namespace thaw::dim {

// What the assumptions say of one symbol; a size without an upper bound ends at kLargestDim.
Bounds symbol_bounds(const SymbolInfo& info);

Bounds bounds_of(Dim d);  // d known
Bounds bounds_of(const Atom& atom, const Scope::Impl& tables);
Bounds bounds_of(const Monomial& monomial, const Scope::Impl& tables);
// The interval of a polynomial, tightened by relaxing its atoms: floor(p/m) lies between (p - m + 1)/m and p/m,
// min(a, b) below a, max(a, b) above a.
Bounds bounds_of(const Poly& poly);

// b - a, without interning the difference; no bounds where it overflows.
Bounds difference_bounds(Dim b, Dim a);

}  // namespace thaw::dim
