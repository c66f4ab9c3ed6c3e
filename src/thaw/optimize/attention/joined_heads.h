// ONNX's Attention on heads that stay joined.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// An Attention whose heads were split off and turned before the positions, and whose result is turned back, reads
// [batch, positions, heads * width] and gives that: no Transpose is left. RotaryEmbedding between goes along. Returns how many.
int join_heads(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
