// Outputs that end with an error, and not with wrong numbers, where sizes are others than a model is known for.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::rewrite {

// Each output that the graph computes is given its own shape where `distance` is 0, else twice each size of it: a Reshape to more
// elements than there are, which no runtime lets pass. False where the distance, 0 or more, cannot be computed in the graph.
bool guard_outputs(ir::Model& model, DimEmitter& sizes, dim::Dim distance);

}  // namespace thaw::rewrite
