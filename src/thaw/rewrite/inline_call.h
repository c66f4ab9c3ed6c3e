// Calls of the model's own functions, replaced by their bodies.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// A node that may call a function of the model, at any depth. A call stays, and the result is false, where there is no
// such function, or it is of another opset than the model. No function may call itself (ir::refuse_recursion). Throws
// thaw::Error where the bodies are more than the model's budget allows.
bool inline_call(ir::Model& model, ir::Node* call);

}  // namespace thaw::rewrite
