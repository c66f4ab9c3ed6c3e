// Constants as initializers, and branches that are known.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Constant nodes become initializers of their graph, under the name of their output. Returns how many.
int list_constants(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);
int list_constants(ir::Model& model, rewrite::Changes& changes);  // of a model of which nothing is inferred yet

// An If whose condition is a constant becomes the branch that it takes, and one whose condition comes out the same at every size,
// unless the model has frozen sizes, which it may follow from. Returns how many.
int take_branches(ir::Model& model, infer::Inference& facts, bool has_frozen, rewrite::Changes& changes);

}  // namespace thaw::optimizing
