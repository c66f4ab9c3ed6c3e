// Positions for a device that computes shapes on its host: counted, not computed from sizes.
#pragma once

#include "thaw/optimize/site.h"

namespace thaw::optimizing {

// A Range in steps of one, as the ones before each place, added up, and where it begins. Null where no tensor is known to be
// as long, or none of the graph's own.
ir::Value* count_positions(const Site& range);

}  // namespace thaw::optimizing
