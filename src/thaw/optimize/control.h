// Control flow that is known before the model runs: calls, and loops of few rounds.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Every call of a function of the model's own opset becomes the function's nodes, functions in functions too. Functions
// that nothing calls any more go. Returns how many calls. Throws thaw::Error where the bodies are more than the model's
// budget allows.
int inline_functions(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// A Loop whose trip count is a small constant, not one of `frozen`, and whose condition stays true, becomes its rounds,
// one after the other, as long as the model has no more nodes than `most_nodes` then. Returns how many.
int unroll_loops(ir::Model& model, infer::Inference& facts, const Constants& frozen, size_t most_nodes,
                 rewrite::Changes& changes);

}  // namespace thaw::optimizing
