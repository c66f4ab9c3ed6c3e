// Which operand of a node may be a matrix of constants that is kept in another form, and how the node reads it: products
// with a weight, and tables whose rows are looked up.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

// x [..., k] times weight [k, n], or transposed [n, k]:  alpha * x * weight + beta * bias.
struct WeightProduct {
  int x = 0, weight = 1;
  int bias = -1;                 // what is added, broadcast to the product; -1: nothing
  bool x_is_transposed = false;  // x is [k, m]
  bool weight_is_transposed = false;
  float alpha = 1, beta = 1;
};
// Of MatMul and Gemm. Whether the operands have such ranks and one is a constant is left to the caller.
std::optional<WeightProduct> weight_product(const ir::Node& node);

// Rows of operand 0 by the indices of operand 1: Gather along the first axis.
bool looks_up_rows(const ir::Node& node);

// The operand of a Transpose that changes the two axes of a matrix of that rank; null for other nodes.
ir::Value* transposed_matrix(const ir::Node& node);

// The operand of an Identity; null for other nodes.
ir::Value* unchanged(const ir::Node& node);
// The operand of a Cast to float32; null for other nodes.
ir::Value* cast_to_float(const ir::Node& node);

// Operands such that, where each of their numbers along the last axis is multiplied by something, the first output is,
// and nothing else changes: a factor, or a normalization's scale and bias. Those of a Mul that are constants. Empty for
// other nodes, and where a node has more outputs that depend on them.
std::vector<int> operands_that_scale(const ir::Node& node);

// A constant that every number of the other operand is multiplied with, or divided by: of a Mul or Div.
struct ConstantFactor {
  int operand = 0;
  bool divides = false;
};
std::optional<ConstantFactor> constant_factor(const ir::Node& node);

// The operand that holds coordinates from -1 to 1 across the axes of operand 0, from the third on: a GridSample's; -1 of
// other nodes.
int coordinates_operand(const ir::Node& node);

// Whether the first output is multiplied by a positive factor, channel by channel, where the first operand is: f(s x) = s f(x).
bool keeps_factors_of_channels(const ir::Node& node);

// What reads weights in blocks: two operators of com.microsoft, and one of ai.onnx that makes numbers of them.
inline constexpr std::string_view kBlockProduct = "MatMulNBits", kBlockLookup = "GatherBlockQuantized",
                                  kDequantize = "DequantizeLinear";
// Of the first two, of how many bits their codes are; none of other nodes.
std::optional<int> bits_in_blocks(const ir::Node& node);

}  // namespace thaw::ops
