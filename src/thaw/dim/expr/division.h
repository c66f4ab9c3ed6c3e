// The two cases of floor division. Internal to dim/.
#pragma once

#include "thaw/dim/expr/tables.h"

namespace thaw::dim {

// floor(a/m), a symbolic, m >= 2.
Dim floor_by_constant(Dim a, int64_t m);
// floor(a/b), b symbolic, a of the same scope or constant.
Dim floor_by_symbolic(Dim a, Dim b);

}  // namespace thaw::dim
