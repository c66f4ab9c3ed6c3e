// Sequences that a tensor is split into, of which single parts are taken.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// A SplitToSequence that SequenceAt alone reads becomes one Split, where it is known how many parts there are, and else a Slice or
// Gather for each part that is taken. A count that follows from a size is none of a model with frozen ones. Returns how many.
int split_plainly(ir::Model& model, infer::Inference& facts, const Constants& frozen, rewrite::Changes& changes);

}  // namespace thaw::optimizing
