// Lower bounds of polynomials beyond term-by-term interval arithmetic. Internal to dim/.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/poly.h"

namespace thaw::dim {

// Term by term: exact for each term, blind to what terms have in common.
Bounds sum_of_bounds(const Poly& poly);

// A lower bound found by replacing, one at a time, an atom by something simpler that is never above it (where its
// coefficient is positive) or never below it: h - 8*floor(h/8) >= h - h = 0. And by counting each symbol from its
// lowest value: with w = 1 + w', h*w - h = h*w' >= 0.
std::optional<int64_t> relaxed_lower(const Poly& poly);

}  // namespace thaw::dim
