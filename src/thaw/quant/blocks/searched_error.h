// What `search` leaves of a product's outputs, on the samples that were looked at.
#pragma once

#include <cstdint>
#include <span>

#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/blocks/weight_matrix.h"

namespace thaw::quantizing::blocks {

constexpr int64_t kTilesLookedAt = 8;  // tiles of columns of each weight that stand for all

// Sum of squares of how far the outputs of the sixteen columns from `first_n` are off, the blocks' scales found by `search`.
// `scales`: [k], what the rows are multiplied by before, and the inputs divided by. `importance`: [k], what an error counts
// by in the search; empty: all alike. Over products of the statistics, or the rows that they kept; else inputs are taken not
// to go along with each other.
double searched_error(const WeightMatrix& weight, const WeightMatrix::StoredRows& rows, int64_t first_n,
                      std::span<const float> scales, std::span<const float> importance, const BlockFormat& format,
                      const ColumnStatistics& statistics);

// Whether outputs are off less where errors count by `importance` than where all count alike.
bool importance_serves(const WeightMatrix& weight, const BlockFormat& format, const ColumnStatistics& statistics,
                       std::span<const float> importance);

}  // namespace thaw::quantizing::blocks
