// Coordinates that are scaled by a size which is the same in every trace (steady_sizes.h).
//
// GridSample reads coordinates from -1 to 1, and a model makes them of positions: x / (width - 1). No inference tells that
// the divisor is a size, and where the width is one number in all traces, so is the divisor. What other samples that are made
// alike divide by, where it does differ, tells. Internal to lift/.
#pragma once

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Tables for such divisors. Where nothing else tells of one that may be one, the size is held as the traces have it; where one that differs
// may be made of either of two axes, these are held equal.
void note_steady_coordinates(Lifting& lifting);

}  // namespace thaw::lifting
