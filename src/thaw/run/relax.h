// A copy of a model's graph that states no sizes of its own: what runs where the declared sizes are lies.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::run {

// Drops what the model declares of intermediate values and outputs, and the names of its inputs' dims (integers stay),
// in the graph and its subgraphs. ONNX Runtime plans its memory by those declarations ("Shape mismatch attempting to
// re-use buffer") but computes the same numbers without them.
void drop_declared_sizes(ir::Model& model);

}  // namespace thaw::run
