// What rotary embeddings of ai.onnx and com.microsoft share: what they ask of their operands, and how they are batched.
#pragma once

#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// Where a rotary embedding has its operands beside the data: cos (sin comes after it), positions.
struct Rotary {
  int cos = 1, positions = 3;
};
// States that heads are twice as wide as the caches, or what rotary_embedding_dim says, and that each token has a
// position. Data is [batch, heads, sequence, head] or [batch, sequence, hidden].
void require_rotary_sizes(Context& ctx, const Rotary& at);

// Tables of cos and sin, in operands `table` and the one after it, that are read by positions may be a sample's own.
void batch_rotary(BatchContext& n, int positions, int table);

}  // namespace thaw::ops
