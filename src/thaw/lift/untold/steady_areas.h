// Images whose area is the same in every trace, as 480 x 640 and 640 x 480. Internal to lift/.
//
// No number of cells varies there: what is made of one is a constant in all traces, and nothing tells it from those of the model.
#pragma once

#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Two axes of an input that differ from trace to trace while their product does not, and what would tell.
std::vector<Note> steady_areas(const std::vector<Trace>& traces);

}  // namespace thaw::lifting
