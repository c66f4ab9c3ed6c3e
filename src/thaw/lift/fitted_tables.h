// The constants that were fitted so far. Internal to lift/.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/lift/around/sizes_around.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Of a Pad's amounts, the sizes of its data in the traces, which they follow from: the same amounts stand at sizes that have nothing to do with
// each other. Empty of others.
std::vector<std::vector<int64_t>> padded_sizes(Lifting& lifting, const Difference& difference,
                                               const SizesAround& sizes);

// What holds the same in every trace, and says the same elsewhere; nullptr where nothing does.
FittedTable* known_table(Lifting& lifting, const Difference& difference,
                         const std::vector<std::vector<int64_t>>& padded, const SizesAround& sizes);

void add_table(Lifting& lifting, const Difference& difference, TableFit fit, std::vector<std::vector<int64_t>> padded);

}  // namespace thaw::lifting
