// Where elements lie in row-major order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thaw::proving {

int64_t product_of(std::span<const int64_t> dims);
// The offset that each element of a tensor of `dims` has, in row-major order, where a step along axis k moves by steps[k].
std::vector<int64_t> offsets(std::span<const int64_t> dims, std::span<const int64_t> steps, int64_t first);

}  // namespace thaw::proving
