// Attention and RotaryEmbedding as the arithmetic that they stand for, for opsets that lack them.
#pragma once

#include "thaw/ops/rule/adapter.h"

namespace thaw::ops {

void older_attention(AdapterContext& n);
void older_rotary_embedding(AdapterContext& n);

// Heads [batch, positions, heads, width] whose first `rotated` elements are rotated by angles [batch or 1, positions, 1, rotated / 2]:
// the halves of it against each other, or each element against the next.
struct Rotation {
  ir::Value* whole;
  ir::Value *cosine, *sine;
  int64_t heads, width, rotated;
  bool interleaved;
};
ir::Value* rotation_as_arithmetic(const Emit& at, const Rotation& r);
// Input 0 of a rotary embedding, [batch, heads, positions, width] or [batch, positions, heads * width], as such heads, and such heads
// as its result.
ir::Value* heads_of(AdapterContext& n, int64_t heads, int64_t width);
void become_heads(AdapterContext& n, ir::Value* rotated, int64_t heads, int64_t width);

}  // namespace thaw::ops
