// Elements of a list of sizes that are the same in every trace, though another element follows a side. Internal to lift/.
//
// An image is brought to whole pieces of 64 along both sides: where one is 128 in every trace, it may be the number, or 64 * ceil(h / 64) as
// the other is 64 * ceil(w / 64). No node says so of what takes any size, as a Resize does.
#pragma once

#include "thaw/lift/untold/untold.h"

namespace thaw::lifting {

// Adds what each such element would be if it followed another side of the same input as another element does, or may, where that is the same
// number in every trace: that it is this number.
void add_steady_elements(Domain& domain, const Written& written);

}  // namespace thaw::lifting
