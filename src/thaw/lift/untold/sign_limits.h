// What is below 0 in no trace. Internal to lift/.
#pragma once

#include <vector>

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// What Pads add, where Slices begin and end, sizes that nodes take and lengths of tables, where that is below 0 in no trace, but is at larger
// sizes; of Pads, at any. A Pad cuts there and a Slice counts from the end, and what the traces have may be max(w - h, 0).
std::vector<Limit> sign_limits(const Lifting& lifting);

}  // namespace thaw::lifting
