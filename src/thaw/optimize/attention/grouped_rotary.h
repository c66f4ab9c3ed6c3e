// Rotary embeddings of queries and keys inside com.microsoft's GroupQueryAttention.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Where both are turned by the same angles at positions from 0 on, and nothing else reads them turned, the operator turns
// them itself. Returns how many.
int rotate_inside(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
