// Tables of distances both ways. Internal to lift/.
//
// Relative positions of n places are 2 * n - 1, from the farthest before to the farthest behind (Dai et al. 2019,
// "Transformer-XL", appendix B). Where n is half of another size in every trace, as the frames behind a stride of 2 are, that
// size less 1 is as many, and elsewhere it is not: attention then reads each position half a step or a step off, and nothing
// contradicts it, as the rows beyond are cut away.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::lifting {

// How many rows the tables have, by trace, where each has as many before the one in the middle as behind it, and is the middle
// of the largest; nullopt of others, and of those that are its first rows as well.
std::optional<std::vector<int64_t>> rows_both_ways(std::span<const ir::Tensor* const> tables);

}  // namespace thaw::lifting
