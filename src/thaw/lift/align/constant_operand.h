// The constant that a node reads.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

// Null where the operand is computed or left out, or where a caller may feed another in its place.
inline const ir::Tensor* constant_operand(const ir::Node& node, int input) {
  const ir::Value* value = node.input(input);
  return value && !value->is_input() ? value->constant() : nullptr;
}

}  // namespace thaw::lifting
