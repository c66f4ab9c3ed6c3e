// How rotary embeddings are batched, shared by ai.onnx and com.microsoft operators.
#pragma once

#include "thaw/ops/rule/batch.h"

namespace thaw::ops {

// Tables of cos and sin, in operands `table` and the one after it, that are read by positions may be a sample's own.
void batch_rotary(BatchContext& n, int positions, int table);

}  // namespace thaw::ops
