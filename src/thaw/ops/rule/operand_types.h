// The type parameters of operators that the official schemas do not know: ONNX Runtime's own.
#pragma once

#include "thaw/ir/graph/schema.h"

namespace thaw::ops {

// The official schema's where there is one, else Thaw's own table's; nullopt for an operator that neither knows.
std::optional<ir::OperandTypes> operand_types(std::string_view domain, std::string_view op, int64_t opset);

}  // namespace thaw::ops
