// A rectangle of floats, turned.
#pragma once

#include <cstdint>

namespace thaw::math {

// to[j * to_stride + i] = from[i * columns + j] for all i < rows and j < columns.
void transpose_block(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_stride);

}  // namespace thaw::math
