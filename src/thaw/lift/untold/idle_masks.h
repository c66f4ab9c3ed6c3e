// Masks that leave no row out in any trace. Internal to lift/.
//
// What a mask is computed of is not in the traces, and one that holds the same everywhere does not say where it begins to differ: detectors
// leave out the cells near an edge, of which there are none in a small grid; attention scales its queries from some position on.
#pragma once

#include <vector>

#include "thaw/lift/domain/domain.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Tables [.., rows, 1] of features that a Where chooses by, all true or all false in every trace, or that a Mul multiplies by 1: rows and all
// sizes of the inputs are known up to the largest trace's. A mask between rows, as attention has it, is as large as they are; one of padding may
// stand beside one that does leave cells out, which then is what follows the sizes. Masks that are expanded to all features, or combined before
// they are used, are not seen.
std::vector<Limit> limits_of_idle_masks(const Lifting& lifting);

}  // namespace thaw::lifting
