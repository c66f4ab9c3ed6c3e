#include "thaw/ops/onnx/constant_operand.h"

#include <algorithm>
#include <array>

namespace thaw::ops {

std::optional<WeightProduct> weight_product(const ir::Node& node) {
  if (!node.domain().empty() || node.inputs().size() < 2) return std::nullopt;
  if (node.op_type() == "MatMul") return WeightProduct{};
  if (node.op_type() != "Gemm") return std::nullopt;
  return WeightProduct{.bias = node.input(2) ? 2 : -1,
                       .x_is_transposed = node.attribute_int("transA", 0) != 0,
                       .weight_is_transposed = node.attribute_int("transB", 0) != 0,
                       .alpha = node.attribute_float("alpha", 1),
                       .beta = node.attribute_float("beta", 1)};
}

bool looks_up_rows(const ir::Node& node) {
  if (!node.domain().empty() || node.op_type() != "Gather") return false;
  const int64_t axis = node.attribute_int("axis", 0);
  const ir::Tensor* table = axis < 0 && node.input(0) ? node.input(0)->constant() : nullptr;
  return axis == 0 || (table && axis + static_cast<int64_t>(table->dims.size()) == 0);
}

ir::Value* transposed_matrix(const ir::Node& node) {
  if (!node.domain().empty() || node.op_type() != "Transpose") return nullptr;
  const auto order = node.attribute_ints("perm");
  // Without an order the axes are reversed: whether there are two, the operand tells.
  constexpr std::array<int64_t, 2> kTransposed = {1, 0};
  return order.empty() || std::ranges::equal(order, kTransposed) ? node.input(0) : nullptr;
}

ir::Value* unchanged(const ir::Node& node) {
  return node.domain().empty() && node.op_type() == "Identity" ? node.input(0) : nullptr;
}

ir::Value* cast_to_float(const ir::Node& node) {
  const bool is_one = node.domain().empty() && node.op_type() == "Cast" &&
                      node.attribute_int("to", 0) == static_cast<int64_t>(ir::DataType::kFloat);
  return is_one ? node.input(0) : nullptr;
}

std::vector<int> operands_that_scale(const ir::Node& node) {
  const std::string& op = node.op_type();
  if (op == "Mul" && node.domain().empty()) {
    for (const int i : {1, 0})
      if (node.input(i) && node.input(i)->constant()) return {i};
    return {};
  }
  const auto with_bias = [&](int scale, int bias) {
    return node.input(bias) ? std::vector{scale, bias} : std::vector{scale};
  };
  // SimplifiedLayerNormalization stands in ai.onnx for ONNX Runtime, which made it up there.
  if (node.domain().empty() && (op == "LayerNormalization" || op == "SimplifiedLayerNormalization"))
    return with_bias(1, 2);
  if (node.domain().empty() && op == "RMSNormalization") return {1};
  if (node.domain() == "com.microsoft" && op == "SkipSimplifiedLayerNormalization") return {2};
  if (node.domain() == "com.microsoft" && op == "SkipLayerNormalization") return with_bias(2, 3);
  return {};
}

std::optional<ConstantFactor> constant_factor(const ir::Node& node) {
  const bool divides = node.op_type() == "Div";
  if (!node.domain().empty() || (!divides && node.op_type() != "Mul")) return std::nullopt;
  for (const int i : {1, 0})
    if ((i == 1 || !divides) && node.input(i) && node.input(i)->constant()) return ConstantFactor{i, divides};
  return std::nullopt;
}

int coordinates_operand(const ir::Node& node) {
  return node.op_type() == "GridSample" && (node.domain().empty() || node.domain() == "com.microsoft") ? 1 : -1;
}

std::optional<int> bits_in_blocks(const ir::Node& node) {
  if (node.domain() != "com.microsoft" || (node.op_type() != kBlockProduct && node.op_type() != kBlockLookup))
    return std::nullopt;
  constexpr int64_t kUnlessSaid = 4;
  return static_cast<int>(node.attribute_int("bits", kUnlessSaid));
}

bool keeps_factors_of_channels(const ir::Node& node) {
  constexpr std::array<std::string_view, 7> kNames = {"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Identity",
                                                      "LeakyRelu",   "MaxPool",           "Relu"};
  return node.domain().empty() && node.outputs().size() == 1 &&
         std::ranges::find(kNames, node.op_type()) != kNames.end();
}

}  // namespace thaw::ops
