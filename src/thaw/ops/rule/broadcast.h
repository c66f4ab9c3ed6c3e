// Output shapes of operators with two operands, for every opset: NumPy broadcasting since opset 7, `broadcast` and
// `axis` attributes before.
#pragma once

#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

// The first input's data type that is known.
ir::DataType first_dtype(Context& ctx);

// Sets output 0 to the broadcast of inputs 0 and 1. False where there are not two operands, or they do not line up as
// NumPy would line them up (legacy `axis`), so that values cannot be followed by broadcasting.
bool binary_shape(Context& ctx, ir::DataType dtype);

// Broadcast of two shapes aligned at their last axes, with obligations. `first_a` and `first_b` are the inputs that the
// shapes' axis 0 was read from, for messages: {input, axis}, or {} when they are not an input's.
Shape broadcast_shapes(Context& ctx, const Shape& a, const Shape& b, std::string_view what, At first_a = {},
                       At first_b = {});

// States that `size` is 1 or `whole`, and so broadcasts to it without changing it.
void require_one_or(Context& ctx, dim::Dim size, dim::Dim whole, std::string_view what, At at_size = {},
                    At at_whole = {});

// States that `input` broadcasts to `shape` without changing it (bias, scale, mask), last axes aligned.
void require_broadcasts_to(Context& ctx, int input, const Shape& shape, std::string_view what);

}  // namespace thaw::ops
