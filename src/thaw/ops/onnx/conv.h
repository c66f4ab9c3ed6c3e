// Output shapes and axes of convolutions, shared by ai.onnx and com.microsoft operators.
#pragma once

#include <optional>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/window.h"

namespace thaw::ops {

struct ConvInputs {
  int x = 0, w = 1;
  int bias = -1;               // -1: the operator has none
  bool channels_last = false;  // x and the output are (N, spatial…, C); the weight stays (M, C / group, kernel…)
};

// Shape of a convolution with its obligations: channels and group, bias, windows that fit. nullopt when no input and no
// attribute tells the number of spatial axes, or the node is invalid.
std::optional<Shape> conv_shape(Context& ctx, const ConvInputs& inputs);

// x, scale, zero point; weight, scale, zero point; scale and zero point of the output; bias.
inline constexpr Axes kQLinearConvAxes = axes_by("n c x~..., , , m _ _..., m, m, , , m -> n m x~...");

}  // namespace thaw::ops
