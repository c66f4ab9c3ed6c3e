// Output shapes of pools, shared by ai.onnx and com.microsoft operators.
#pragma once

#include <optional>

#include "thaw/ops/rule/window.h"

namespace thaw::ops {

// A pool over the spatial axes of input 0, which is (N, C, spatial…), or (N, spatial…, C) when `channels_last`.
std::optional<Shape> pool_shape(Context& ctx, bool channels_last = false);
// Its spatial axes reduced to 1.
std::optional<Shape> global_pool_shape(Context& ctx, bool channels_last = false);

}  // namespace thaw::ops
