// Steps of a loop that every trace has as many of: one chunk, because all of them are shorter than two.
//
// A loop over chunks is written out a step for each, and reads the chunks by their numbers. Where the traces have as many
// chunks, nothing differs between them but the last one's length, and nothing contradicts another number: the rest would
// be skipped without a word. Internal to lift/.
#pragma once

#include <span>
#include <vector>

#include "thaw/lift/solve/steady_sizes.h"

namespace thaw::lifting {

struct Lifting;

// Those that are read place by place, every place that the traces have.
std::vector<SteadySize> written_out(std::span<const SteadySize> steady);

// Notes that their number is what it is in the traces, for each axis that is cut into as many such windows in all of them. Where a Slice ends
// past what each trace has, as the only one of such windows does: that there is no more.
void note_cut_windows(Lifting& l);

}  // namespace thaw::lifting
