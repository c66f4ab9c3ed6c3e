// GPTQ (Frantar et al. 2022): codes of one position of k after the other, what each is off made good by those that follow.
#pragma once

#include "thaw/quant/blocks/packed_weight.h"
#include "thaw/quant/blocks/statistics.h"

namespace thaw::quantizing::blocks {

// Codes for the least error of x * weight over the samples that the statistics were gathered from; they must have
// products. Blocks are taken by how large the inputs are that they meet, and within a block the largest first. A
// block's scales are chosen, by `search`, when its turn comes. Memory: the products twice, and the codes. Throws
// thaw::Error (kInvalidFile) where a weight is NaN or infinite.
ChosenCodes gptq(const WeightMatrix& weight, const BlockFormat& format, const ColumnStatistics& statistics);

}  // namespace thaw::quantizing::blocks
