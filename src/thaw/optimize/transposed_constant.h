// Constants with their axes in another order.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::optimizing {

// Whether it is small, or nothing else reads it and it is not large, so that nothing is stored twice.
bool can_transpose(const ir::Tensor& tensor, const ir::Value& value);

// Of one that can be; axes of 1 stand before those that it has where the order has more. Without a name.
ir::Tensor transposed_constant(const ir::Tensor& tensor, const std::vector<int64_t>& order);

}  // namespace thaw::optimizing
