// Integers on a line of a tensor's size, or of two: strides of a tensor that is read as a flat one, the distances that
// are left when one of two lists was pooled.
//
// Tried last: of many tensors, one lies on a line by chance where the traces are few.
#pragma once

#include <functional>
#include <span>

#include "thaw/lift/solve/tensor_sizes.h"

namespace thaw::lifting {

// Hands over what gives the wanted value in each trace, until `take` says that it is enough: whole multiples of a size;
// multiples of a size and a constant (of three sizes or more); one size and twice another.
void solve_tensor_lines(const TensorSizes& tensors, std::span<const int64_t> wanted,
                        const std::function<bool(dim::Dim)>& take);

}  // namespace thaw::lifting
