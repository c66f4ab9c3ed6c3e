// Pooling along an axis as a product with a matrix: what each entry of the axis weighs in the average of each cell.
#pragma once

#include <cstdint>
#include <string>

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// Whether such a matrix is too large to be made.
bool is_large_average(int64_t cells, int64_t side);

// [cells, side]; turned: [side, cells].
ir::Tensor averages_matrix(std::string name, int64_t cells, int64_t side, bool turned);

// Whether it is that of its sizes, entry by entry.
bool is_averages_matrix(const ir::Tensor& tensor, bool turned);

}  // namespace thaw::lifting
