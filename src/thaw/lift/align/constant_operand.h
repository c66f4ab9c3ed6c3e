// The constant that a node reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

// Null where the operand is computed or left out, or where a caller may feed another in its place.
inline const ir::Tensor* constant_operand(const ir::Node& node, int input) {
  const ir::Value* value = node.input(input);
  return value && !value->is_input() ? value->constant() : nullptr;
}

// Its elements. nullopt where they are no integers.
inline std::optional<std::vector<int64_t>> constant_integers(const ir::Node& node, int input) {
  const ir::Tensor* tensor = constant_operand(node, input);
  if (!tensor || !ir::is_integer(tensor->data_type)) return std::nullopt;
  return tensor->to_int64();
}

// Its only element. nullopt where it is no integer, or there are several.
inline std::optional<int64_t> only_integer(const ir::Node& node, int input) {
  const ir::Tensor* tensor = constant_operand(node, input);
  if (!tensor || tensor->num_elements() != 1) return std::nullopt;
  const auto integers = constant_integers(node, input);
  return integers ? std::optional(integers->front()) : std::nullopt;
}

}  // namespace thaw::lifting
