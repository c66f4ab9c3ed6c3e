// The type parameters of operators that the official schemas do not know: ONNX Runtime's own.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/ir/graph/schema.h"

namespace thaw::ops {

// The official schema's where there is one, else Thaw's own table's; nullopt for an operator that neither knows.
std::optional<ir::OperandTypes> operand_types(std::string_view domain, std::string_view op, int64_t opset);
// Of a node at its model's opset.
std::optional<ir::OperandTypes> operand_types(const ir::Model& model, const ir::Node& node);

// A type parameter ("T"), which operands share, rather than a type ("tensor(int64)").
inline bool is_type_parameter(std::string_view type) {
  return !type.empty() && type.find('(') == std::string_view::npos;
}

}  // namespace thaw::ops
