#include "thaw/ops/rule/axis_select.h"

namespace thaw::ops {

using dim::Dim;

Dim wrapped_axis(Dim axis, int rank) { return rank > 0 ? dim::mod(axis, rank) : Dim(); }

Dim is_equal(Dim a, Dim b) { return dim::max(0, dim::min(a - b, b - a) + 1); }

Dim is_less(Dim a, Dim b) { return dim::max(0, dim::min(1, b - a)); }

Dim select(Dim condition, Dim yes, Dim no) {
  if (condition.is_constant()) return condition.is_constant(0) ? no : yes;
  if (dim::same(yes, no)) return yes;
  return no + condition * (yes - no);
}

}  // namespace thaw::ops
