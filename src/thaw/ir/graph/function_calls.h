// Which model-local functions call which.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

// Throws thaw::Error, naming the function, where one calls itself, by itself or through others: ONNX has no recursion,
// and whoever expands such a call would not end. Linear in the nodes of the functions.
void refuse_recursion(const Model& model);

}  // namespace thaw::ir
