// Steps of a loop that every trace has as many of: one chunk, because all of them are shorter than two.
//
// A loop over chunks is written out a step for each, and reads the chunks by their numbers. Where the traces have one chunk
// each, or two, nothing differs between them, and nothing contradicts another number: the rest would be passed over
// without a word. Internal to lift/.
#pragma once

#include <span>
#include <vector>

#include "thaw/lift/steady_sizes.h"

namespace thaw::lifting {

// Those that are read place by place, every place that the traces have.
std::vector<SteadySize> written_out(std::span<const SteadySize> steady);

}  // namespace thaw::lifting
