#include "thaw/ops/target/int8_kernels.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/planned_node.h"

namespace thaw::ops {

Int8Kernel int8_kernel(const ir::Node& node) {
  using enum Int8Kernel;
  static constexpr std::array kKernels = std::to_array<std::pair<std::string_view, Int8Kernel>>({
      {"Add", kOwnScale},
      {"AveragePool", kOwnScale},
      {"Clip", kCut},
      {"Concat", kOwnScale},
      {"Conv", kConvolution},
      {"ConvTranspose", kConvolution},
      {"DepthToSpace", kSameScale},
      {"Expand", kSameScale},
      {"Flatten", kSameScale},
      {"GRU", kRecurrent},
      {"Gemm", kProduct},
      {"GlobalAveragePool", kOwnScale},
      {"Identity", kSameScale},
      {"LSTM", kRecurrent},
      {"LeakyRelu", kOwnScale},
      {"MatMul", kProduct},
      {"MaxPool", kSameScale},
      {"Mul", kOwnScale},
      {"RNN", kRecurrent},
      {"Relu", kCut},
      {"Reshape", kSameScale},
      {"Resize", kSameScale},
      {"Sigmoid", kOwnScale},
      {"Slice", kSameScale},
      {"SpaceToDepth", kSameScale},
      {"Split", kSameScale},
      {"Squeeze", kSameScale},
      {"Transpose", kSameScale},
      {"Unsqueeze", kSameScale},
  });
  static_assert(std::ranges::is_sorted(kKernels, {}, [](const auto& entry) { return entry.first; }));
  if (!node.domain().empty()) return kNone;
  const std::string_view name = node.op_type();
  const auto at = std::ranges::lower_bound(kKernels, name, {}, [](const auto& entry) { return entry.first; });
  if (at == kKernels.end() || at->first != name) return kNone;
  // A cubic Resize makes numbers beyond those that it reads; a pool's indices have no 8 bits.
  if (node.attribute_string("mode", "") == "cubic") return kNone;
  if (at->second != kRecurrent && name != "Split" && node.outputs().size() > 1) return kNone;
  return at->second;
}

bool has_integer_form(const ir::Node& node) {
  if (!node.domain().empty()) return false;
  return node.op_type() == "MatMul" || node.op_type() == "Gemm" || node.op_type() == "Conv";
}

std::string_view dynamic_recurrent(const ir::Node& node) {
  const bool has_one = node.domain().empty() && node.op_type() == "LSTM" && node.attribute_int("layout", 0) == 0;
  return has_one ? "DynamicQuantizeLSTM" : "";
}

bool takes_integer_convolutions(const Target& target, int64_t opset) {
  const PlannedNode node{
      .op = kIntegerConvolution,
      .inputs = {ir::DataType::kUint8, ir::DataType::kUint8, ir::DataType::kUint8, ir::DataType::kUint8},
      .outputs = {ir::DataType::kInt32}};
  return how_taken(target, node, opset).support != Support::kUnsupported;
}

bool takes_dynamic_recurrent(const Target& target, std::string_view op) {
  const TargetDomain* own = target.domain(kMicrosoft);
  if (op.empty() || !own) return false;
  return own->kernels.empty() || find_kernel(*own, op, 1);
}

bool takes_coded_biases(const Target& target, int64_t opset) {
  const PlannedNode node{
      .op = kDequantize, .inputs = {ir::DataType::kInt32, ir::DataType::kFloat}, .outputs = {ir::DataType::kFloat}};
  return how_taken(target, node, opset).support != Support::kUnsupported;
}

}  // namespace thaw::ops
