// The axes of normalizations, shared by ai.onnx and com.microsoft operators.
#pragma once

#include <vector>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/emit.h"

namespace thaw::ops {

// What sees an axis of operand 0 whole, or all axes from it on, and keeps the others.
std::optional<AxesMap> axes_mixing(NodeView& view, int64_t axis, bool to_the_end, Combine combine = Combine::kOther);

// Of a norm over the axes from `axis` on: scale and bias line up at the right, outputs from 1 on are statistics.
std::optional<AxesMap> layer_norm_axes(NodeView& view);

// x over the root of its mean square over those axes, computed in `precision`; x has `type`, and so has the result.
ir::Value* rms_norm_as_arithmetic(const Emit& at, ir::Value* x, ir::DataType type, const std::vector<int64_t>& axes,
                                  double epsilon, ir::DataType precision);

}  // namespace thaw::ops
