// Calls of the model's own functions, replaced by their bodies. Internal to batch/.
#pragma once

#include <span>

#include "thaw/ir/graph/model.h"

namespace thaw::batching {

// Every call that samples from `inputs` reach, at any depth, also those inside a body. A call stays where its function
// is of another opset than the model. Throws thaw::Error where the bodies are more than the model's budget allows.
void inline_functions(ir::Model& model, std::span<ir::Value* const> inputs);

}  // namespace thaw::batching
