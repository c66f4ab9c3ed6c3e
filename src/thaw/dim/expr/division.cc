// floor_div, ceil_div and mod: constants, and which case of the normal form applies.
#include "thaw/dim/expr/division.h"

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/poly.h"

namespace thaw::dim {

Dim floor_div(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown() || b.is_constant(0)) return Dim();
  if (b.is_constant(1)) return a;
  if (a.is_constant() && b.is_constant()) return Dim(floor_quotient(*a.constant(), *b.constant()));
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return Dim();
  if (auto divisor = b.constant()) {
    if (*divisor < 0) return floor_div(-a, Dim(-*divisor));
    return remember(*tables, Op::kFloorDiv, a, b, [&] { return floor_by_constant(a, *divisor); });
  }
  return remember(*tables, Op::kFloorDiv, a, b, [&] { return floor_by_symbolic(a, b); });
}

Dim ceil_div(Dim a, Dim b) { return -floor_div(-a, b); }

Dim mod(Dim a, Dim b) {
  const Dim quotient = floor_div(a, b);
  if (quotient.is_unknown()) return quotient;
  if (!a.is_symbolic() && !quotient.is_symbolic() && !b.is_symbolic()) return a - b * quotient;
  // One polynomial, so that a and b * floor(a/b) may cancel before the budget is counted.
  Scope::Impl* tables = shared_tables(a, b);
  Poly poly(*tables, a);
  poly.add_product(b, quotient, -1);
  return poly.finish();
}

}  // namespace thaw::dim
