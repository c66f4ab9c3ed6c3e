// A piece of a table along one axis, as a table of its own.
#pragma once

#include <cstdint>

#include "thaw/ir/data/tensor.h"

namespace thaw::lifting {

// Whether its entries are whole bytes: not strings, nor types of a few bits.
bool can_be_cut(const ir::Tensor& table);

// The entries [begin, begin + count) of an axis.
ir::Tensor piece_along(const ir::Tensor& table, size_t axis, int64_t begin, int64_t count);

}  // namespace thaw::lifting
