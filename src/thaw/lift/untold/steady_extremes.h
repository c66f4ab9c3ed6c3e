// The longer side of an image, or the shorter, where it is the same in every trace though the sides are not. Internal to lift/.
//
// Traces at 640 x 480 and 320 x 640: a table in shares of the longer side holds 1 / 640 in both, which may be the number or the side. So may what
// such a side is padded or cut to, and the longer side of a map that is made of it. What was learned tells nothing of it: entries that are kept
// as they are may be shares, too.
#pragma once

#include "thaw/lift/untold/untold.h"

namespace thaw::lifting {

// Adds that such a side is what it was where a table that grows, or a number alone, holds shares of it, or the model cuts by it.
void add_steady_extremes(Domain& domain, const Written& written);

}  // namespace thaw::lifting
