// Coordinates that are scaled by a size which is the same in every trace (steady_sizes.h).
//
// GridSample reads coordinates from -1 to 1, and a model makes them of positions: x / (width - 1). No inference tells that
// the divisor is a size, and where the width is one number in all traces, so is the divisor. What other samples that are made
// alike divide by, where it does differ, tells. Internal to lift/.
#pragma once

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Tables for such divisors; a note on each that may be one, and of which nothing else tells; likewise on
// each that differs and may be made of either of two axes.
void note_steady_coordinates(Lifting& lifting);

}  // namespace thaw::lifting
