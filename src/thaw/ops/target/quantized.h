// Floats that stand between a DequantizeLinear and a QuantizeLinear: runtimes compute with what is stored instead.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

// The integers that a tensor of floats is made of, or those that are made of it; null: it is no such tensor.
const ir::Value* stored_as(const ir::Value& floats);

}  // namespace thaw::ops
