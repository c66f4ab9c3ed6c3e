// What DirectML takes, and which opset a model for it has.
#pragma once

#include "thaw/ops/target/target.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// ONNX's own operators that DirectML has kernels for.
const ops::TargetDomain& directml_operators();

// Changes a model to the opset at which DirectML has no kernel for the fewest of its nodes: its own, or DirectML's newest where
// that is older, or one before it. Where none has an equal of every node, the model stays as it is, and `changes.left` says why.
void change_to_directml_opset(rewrite::PassContext& context);

}  // namespace thaw::optimizing
