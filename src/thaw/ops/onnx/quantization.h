// What quantized operators of ai.onnx and com.microsoft share.
#pragma once

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

// Scale and zero point have one shape: a scalar, one for each index of `axis`, or one a block of `block_size` along it.
void require_scales(Context& ctx, int x, int scale, int zero_point);

// QuantizeLinear and DequantizeLinear: data, scale, zero point; the latter two lie along `axis`, in whole or in blocks.
std::optional<AxesMap> quantize_axes(NodeView& view);
void batch_quantize(BatchContext& n);

}  // namespace thaw::ops
