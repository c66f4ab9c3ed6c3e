// Removing what nothing reads: nodes of the main graph and its subgraphs whose outputs are unused, then initializers of
// the main graph. Outputs and inputs stay; a node that could have an effect of its own does not exist in ONNX, so all go.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// Returns how many nodes went.
int remove_unused(ir::Model& model);

// Imports of domains, but for ai.onnx, that no node and no function is of. Returns how many went.
int remove_unused_domains(ir::Model& model);

}  // namespace thaw::rewrite
