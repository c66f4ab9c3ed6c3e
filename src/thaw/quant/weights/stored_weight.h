// The constant behind what a node reads as its weight, and how the node reads it; and why there is none that can be kept in fewer bits, as
// the passes of INT8 and of blocks say alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

struct StoredWeight {
  ir::Value* value = nullptr;  // the constant, which nobody can replace
  const ir::Tensor* tensor = nullptr;
  ir::DataType type = ir::DataType::kFloat;  // that it is read as: wider than the constant's own behind a Cast
  bool transposed = false;                   // by a Transpose of a matrix
};

// Behind Identities, Transposes of matrices and a Cast of float16 or bfloat16 to float32, as half-precision checkpoints are exported with.
// None where what is read is computed, or no constant of floating point.
std::optional<StoredWeight> stored_weight(const ir::Value* operand);

inline constexpr std::string_view kReplaceableWeight = "its weight is also an input, which a caller may replace";

// Of a constant without two axes, a clause; else empty.
std::string why_no_axes(const ir::Tensor& weight);
// Of a value that a node makes of constants alone, a clause; else empty.
std::string why_computed(const ir::Value* weight);

}  // namespace thaw::quantizing
