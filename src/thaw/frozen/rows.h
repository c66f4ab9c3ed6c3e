// Tables that were repeated when a model was frozen: the same rows, once for each of what a size counts.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/dim/expr/dim.h"
#include "thaw/ir/data/tensor.h"

namespace thaw::frozen {

// What a table's axis is made of: its first `count` positions, `times` over.
struct Repeated {
  int64_t count = 1;
  dim::Dim times;
};

// A table whose axis should be `size`: the fewest positions that it repeats and that divide the size; nullopt where it repeats none,
// is large, or cannot be read.
std::optional<Repeated> repeated_along(const ir::Tensor& table, int axis, dim::Dim size);

// The first `count` positions of the axis.
ir::Tensor first_along(const ir::Tensor& table, int axis, int64_t count);

}  // namespace thaw::frozen
