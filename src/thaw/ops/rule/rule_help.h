// What many shape rules share: axes, broadcasting, windows of convolutions and pools, element-wise values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// axis in [-rank, rank) as a non-negative axis; nullopt (and ctx.invalid) when it is outside.
std::optional<int> normalize_axis(Context& ctx, int64_t axis, int rank);
// The same for a list; duplicates are invalid.
std::optional<std::vector<int>> normalize_axes(Context& ctx, std::span<const int64_t> axes, int rank);

// Multidirectional (NumPy) broadcast of these inputs' shapes, stating the obligations; nullopt when a rank is not
// known.
std::optional<Shape> broadcast_inputs(Context& ctx, std::span<const int> inputs);
// Merges two shapes that must be equal (states it); an unknown rank takes the other's.
std::optional<Shape> require_same_shape(Context& ctx, const std::optional<Shape>& a, const std::optional<Shape>& b,
                                        std::string_view what);

// States that an axis of an operand is `size`, where the operand has that rank; the better known of the two.
dim::Dim require_axis(Context& ctx, int input, int rank, int axis, dim::Dim size, std::string_view what);

// A shape of `rank` unknown dims.
Shape unknown_shape(int rank);

// Output `o` has input `i`'s type and shape (and elements, when `with_elements`).
void same_as_input(Context& ctx, int o, int i, bool with_elements = false);
// The same shape with another element type.
void shape_of_input(Context& ctx, int o, int i, ir::DataType dtype);
// Output 0 has the shape and the element type of operand 0.
inline void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

// Applies f to the elements of the inputs, broadcast to the output's constant shape, and sets output 0's elements.
// Nothing happens when some input is not followed or the output's shape is not constant.
using ElementFunction = Element (*)(std::span<const Element>);
void set_elementwise_values(Context& ctx, ElementFunction f);

// The data type behind an integer attribute (`to`, `dtype`); kUndefined when out of range.
ir::DataType data_type_from_attr(int64_t value);

}  // namespace thaw::ops
