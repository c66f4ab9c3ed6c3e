// Distances that are farther than any trace is long. Internal to lift/.
//
// Relative attention numbers near positions by their distance and puts far ones together, in buckets that grow (Raffel et
// al. 2020, "Exploring the Limits of Transfer Learning", section 2.1: half of a side's numbers are of one distance each),
// or in the last of them. A trace that is shorter than the near ones counts on to its end, and does not tell.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/ir/data/tensor.h"

namespace thaw::lifting {

// The largest distance of an integer table [.., rows, columns], each number of which stands for how far its column is from
// its row, if the numbers rise by one from distance to distance to the end of the table, on a side of the row that has
// more than these among `numbers`. nullopt where they do not, or are one line through both sides, as positions are.
std::optional<int64_t> open_distance(const ir::Tensor& table, int64_t numbers);

}  // namespace thaw::lifting
