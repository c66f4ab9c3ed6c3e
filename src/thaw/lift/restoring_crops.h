// Slices that give back a side that was padded to whole windows.
//
// A grid is padded to whole windows along both sides and cut down to what it was behind them. Where one side is whole in every trace, the
// exporter leaves that cut out, since it cuts nothing off: the Slice of the other side is there and tells where it belongs. Internal to
// lift/.
#pragma once

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Has such Slices cut both sides, in the model with the tables written into it. What it did is told in the report.
void restore_crops(Lifting& lifting);

}  // namespace thaw::lifting
