// Sizes that depend on an axis which only an input tells: expressions in that input's value.
//
// With m = axis mod rank, [m == j] is max(0, min(m - j, j - m) + 1): 1 or 0 for integers. So the output of a reduction
// over a fed axis still has an expression for each dim.
#pragma once

#include "thaw/dim/expr/dim.h"

namespace thaw::ops {

// An axis that only the run names is looked for among at most so many.
inline constexpr int kMaxFedRank = 16;

// axis, which lies in [-rank, rank), as a non-negative one.
dim::Dim wrapped_axis(dim::Dim axis, int rank);
// 1 where a == b, else 0.
dim::Dim is_equal(dim::Dim a, dim::Dim b);
// 1 where a < b, else 0.
dim::Dim is_less(dim::Dim a, dim::Dim b);
// condition (0 or 1) ? yes : no. Unknown only where the branch that counts is, if the condition is constant.
dim::Dim select(dim::Dim condition, dim::Dim yes, dim::Dim no);

}  // namespace thaw::ops
