// Why what a node multiplies by is no weight that can be kept in fewer bits: what the passes of INT8 and of blocks say alike.
#pragma once

#include <string>
#include <string_view>

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

inline constexpr std::string_view kReplaceableWeight = "its weight is an input too, which a caller may replace";

// Of a constant without two axes, a clause; else empty.
std::string why_no_axes(const ir::Tensor& weight);
// Of a value that a node makes of constants alone, a clause; else empty.
std::string why_computed(const ir::Value* weight);

}  // namespace thaw::quantizing
