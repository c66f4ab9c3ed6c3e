// What `search` leaves of a product's outputs, on the samples that were looked at.
#pragma once

#include <span>
#include <vector>

#include "thaw/quant/blocks/importance.h"
#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/blocks/weight_matrix.h"

namespace thaw::quantizing::blocks {

// How blocks' scales are found.
struct SearchWay {
  std::span<const float> row_scales;       // [k], what the rows are multiplied by before, and the inputs divided by
  const Importance* importance = nullptr;  // what errors count by, rows not scaled; null: all alike
};

// By way, the sum of squares of how far outputs of the products are off, for some columns of each weight that stand for all.
// Over products of the statistics, or the rows that they kept; else inputs are taken not to go along with each other.
std::vector<double> searched_errors(std::span<const WeightMatrix> weights, std::span<const SearchWay> ways,
                                    const BlockFormat& format, const ColumnStatistics& statistics);

// Whether outputs are off less where errors count by `importance` than where all count alike.
bool importance_serves(const WeightMatrix& weight, const BlockFormat& format, const ColumnStatistics& statistics,
                       const Importance& importance);

}  // namespace thaw::quantizing::blocks
