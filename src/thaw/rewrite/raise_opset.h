// A model in a newer opset of ai.onnx: each node in the form that it has there, to the same numbers.
//
// Most operators change by the types that they take, by attributes that may be left out, or by attributes that become
// operands: ONNX's schemas tell. What means something else under the same name is said one by one.
#pragma once

#include <cstdint>

#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

// Changes the main graph and the graphs inside its nodes; functions keep the opset that they import. Nothing happens where
// the model has that opset. Throws thaw::Error (kInvalidArgument) where it has a newer one, where there is no such opset, and
// naming the node, where one has no equal there; the model is then as it was.
void raise_opset(ir::Model& model, int64_t opset, Changes& changes);

}  // namespace thaw::rewrite
