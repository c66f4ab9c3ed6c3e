// Calls of a model's own functions become their bodies.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

// In the main graph, at any depth. A call stays where the function holds graphs, or is of another opset than the model.
void expand_calls(ir::Model& model);

}  // namespace thaw::proving
