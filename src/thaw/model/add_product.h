// The product that merges a low-rank adapter into a weight. Internal to model/.
#pragma once

#include <cstdint>

namespace thaw::model {

// c [rows, columns] += scale * b [rows, depth] a [depth, columns]; all row after row without gaps. Uses the widest
// vectors that the processor has; one thread. The sum over depth is rounded in an order that depends on them.
void add_product(const float* b, const float* a, int64_t rows, int64_t depth, int64_t columns, float scale, float* c);

}  // namespace thaw::model
