// Sizes under a floating-point scale: floor(size * scale) as runtimes compute it, in float32.
#pragma once

#include "thaw/ops/rule/element.h"

namespace thaw::ops {

// floor(size * scale) for a scale that is a plain float32 number, or a ratio of sizes.
//
// A float32 scale s stands for the simplest fraction p/q that rounds to it (0.7 for 0.699999988), and the product is
// rounded to float32 before the floor. The result is floor(size * p / q) exactly (for sizes of up to 2^22 / q) unless s
// falls so far short of p/q that a product which should be whole rounds down below it; then the size is unknown. A
// ratio of sizes is taken as exact: floor(h * (2*h / h)) = 2*h.
dim::Dim scaled_size(dim::Dim size, const Element& scale);

// The simplest fraction that a float32 number stands for, as a ratio; e itself where it is exact already. Unknown where
// products of sizes with the number could round to the other side of a whole one.
Element as_fraction(const Element& e);

// round(size * wanted / of), halves up: an axis of `size` scaled by the ratio of `wanted` to `of`.
dim::Dim rounded_share(dim::Dim size, dim::Dim wanted, dim::Dim of);

}  // namespace thaw::ops
