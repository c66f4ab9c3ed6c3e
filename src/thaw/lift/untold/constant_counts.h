// Axes of which a node takes as many places in every trace. Internal to lift/.
#pragma once

#include <vector>

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// The sizes of such axes: of a Slice, a Gather, a Resize or a GridSample that makes two places or more of each. The number may follow from
// the sizes all the same, where the traces share what it is made of: squares rectified to a line are as wide as high.
std::vector<dim::Dim> sizes_behind_constant_counts(const Lifting& lifting);

}  // namespace thaw::lifting
