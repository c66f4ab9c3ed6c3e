// Which operand of a node may be a matrix of constants that is kept in another form, and how the node reads it: products
// with a weight, and tables whose rows are looked up.
#pragma once

#include <optional>
#include <string_view>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

// x [..., k] times weight [k, n], or turned [n, k]:  alpha * x * weight + beta * bias.
struct WeightProduct {
  int x = 0, weight = 1;
  int bias = -1;             // what is added, broadcast to the product; -1: nothing
  bool x_is_turned = false;  // x is [k, m]
  bool weight_is_turned = false;
  float alpha = 1, beta = 1;
};
// Of MatMul and Gemm. Whether the operands have such ranks and one is a constant is left to the caller.
std::optional<WeightProduct> weight_product(const ir::Node& node);

// Rows of operand 0 by the indices of operand 1: Gather along the first axis.
bool looks_up_rows(const ir::Node& node);

// The operand of a Transpose that changes the two axes of a matrix of that rank; null for other nodes.
ir::Value* turned_matrix(const ir::Node& node);

// com.microsoft's operators that read weights in blocks.
inline constexpr std::string_view kBlockProduct = "MatMulNBits", kBlockLookup = "GatherBlockQuantized";

}  // namespace thaw::ops
