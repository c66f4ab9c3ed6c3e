// Pad, as ai.onnx and com.microsoft have it.
#pragma once

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"

namespace thaw::ops {

std::optional<AxesMap> pad_axes(NodeView& view);
void batch_pad(BatchContext& n);

}  // namespace thaw::ops
