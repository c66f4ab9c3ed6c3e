// Constants as initializers, and branches that a constant decides.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Constant nodes become initializers of their graph, under the name of their output. Returns how many.
int list_constants(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);
int list_constants(ir::Model& model, rewrite::Changes& changes);  // of a model of which nothing is inferred yet

// An If whose condition is a constant becomes the branch that it takes. Returns how many.
int take_branches(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
