// The constant that a node reads.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

// Null where the operand is computed or left out, or where a caller may feed another in its place.
inline const ir::Tensor* constant_operand(const ir::Node& node, int input) {
  const ir::Value* value = node.input(input);
  return value && !value->is_input() ? value->constant() : nullptr;
}

// Its only element. nullopt where it is no integer, or there are several.
inline std::optional<int64_t> only_integer(const ir::Node& node, int input) {
  const ir::Tensor* tensor = constant_operand(node, input);
  if (!tensor || tensor->num_elements() != 1 || !ir::is_integer(tensor->data_type)) return std::nullopt;
  return tensor->to_int64().front();
}

}  // namespace thaw::lifting
