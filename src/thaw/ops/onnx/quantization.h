// What quantized operators of ai.onnx and com.microsoft state of scales and zero points.
#pragma once

#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

// Scale and zero point have one shape: a scalar, one for each index of `axis`, or one a block of `block_size` along it.
void require_scales(Context& ctx, int x, int scale, int zero_point);

}  // namespace thaw::ops
