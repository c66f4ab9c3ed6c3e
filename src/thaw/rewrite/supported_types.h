// Element types that an opset's operators take: many came to an operator later than the operator itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "thaw/infer/infer.h"

namespace thaw::rewrite {

struct UnsupportedType {
  const ir::Node* node = nullptr;
  std::string why;  // "it takes no int4 there": completes "… has no equal in opset 20: "
};

// The first node of ai.onnx, in the main graph or in those inside its nodes, an operand or a result of which is of an element
// type that the operator does not have in opset `to`, though it has it, or is not there at all, in opset `from`.
std::optional<UnsupportedType> find_unsupported_type(const ir::Graph& graph, const infer::Result& facts, int64_t from,
                                                     int64_t to);

}  // namespace thaw::rewrite
