// Control flow that goes: calls, loops of few rounds, and for a device that runs none, branches and sums that need none.
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

// For DirectML. An If whose branches work element by element, and run whatever its condition is, becomes their nodes
// and a Where. Returns how many.
int merge_branches(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// For DirectML. A Loop or Scan each of whose rounds works on a row of its own becomes the nodes of its body over all rows. Returns
// how many.
int map_rows_at_once(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// For DirectML. A Scan or Loop that adds what it reads to what it carries becomes CumSum and ReduceSum. Returns how many.
int add_scans_at_once(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
