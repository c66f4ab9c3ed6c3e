// What ONNX Runtime computes in 8 bits where DequantizeLinear stands before an operator and QuantizeLinear behind it, as a
// table: its selectors of groups of such nodes (onnxruntime/core/optimizer/qdq_transformer/selectors_actions), read for 1.31.
#pragma once

#include <cstdint>
#include <string_view>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/target/target.h"

namespace thaw::ops {

enum class Int8Kernel : uint8_t {
  kNone,
  kConvolution,  // sums of products with a weight; in 8 bits only where its result is quantized too
  kProduct,      // the same; its result may be float32
  kRecurrent,    // its weights alone may be in 8 bits: they are made float32 before it
  kSameScale,    // passes numbers on: operand and result have one scale and zero point
  kOwnScale,     // reads 8 bits and makes 8 bits of another scale
  kCut,          // cuts numbers off: behind another, the range of what is quantized says the same
};

// kNone for an operator that the table does not have, and for a node whose attributes it does not take.
Int8Kernel int8_kernel(const ir::Node& node);

// The operator that makes codes of numbers; ops/onnx/constant_operand.h has the one that makes numbers of codes.
inline constexpr std::string_view kQuantize = "QuantizeLinear";
// Of activations with scales that are measured at each run, and what multiplies their codes.
inline constexpr std::string_view kDynamicQuantize = "DynamicQuantizeLinear", kIntegerProduct = "MatMulInteger",
                                  kIntegerConvolution = "ConvInteger";

// Sums of products with a weight that has a form for activations whose scales are measured at each run: MatMulInteger,
// ConvInteger.
bool has_integer_form(const ir::Node& node);

// com.microsoft's operator that reads codes of a recurrent node's W and R, and quantizes what they multiply at each step; empty
// where there is none. It reads what the node reads, W and R with their last two axes changed, and behind those eight operands
// scales and zero points of W and of R: one for each direction, or for each direction and row.
std::string_view dynamic_recurrent(const ir::Node& node);

// Which of these nodes a target takes, where some may do without the others; at an opset of ai.onnx.
bool takes_integer_convolutions(const Target& target, int64_t opset);
bool takes_dynamic_recurrent(const Target& target, std::string_view op);
// Biases in 32 bits, behind a DequantizeLinear.
bool takes_coded_biases(const Target& target, int64_t opset);

}  // namespace thaw::ops
