#include "thaw/quant/int8/weight_operand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/infer/facts_view.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/weights/stored_weight.h"

namespace thaw::quantizing::int8 {
namespace {

using ops::Int8Kernel;
using ops::Role;

// A constant that nobody can replace.
const ir::Tensor* constant_of(const ir::Value* value) {
  const auto stored = stored_weight(value);
  return stored ? stored->tensor : nullptr;
}

// The axis of operand `weight` that the result keeps and `data` does not have.
int channel_axis(const ir::Node& node, int weight, int data, const ir::Model& model, const infer::Result& facts) {
  infer::NodeFacts view(facts, model, node);
  const auto map = ops::axes_of(view);
  if (!map) return -1;
  // The rows of gates are an axis that nothing else has.
  const int rank = view.input(weight).rank();
  if (ops::int8_kernel(node) == Int8Kernel::kRecurrent)
    for (int axis = 0; axis < rank; ++axis)
      if (!map->of_input(weight, axis)) return axis;
  int found = -1;
  for (const ops::AxisLink& link : map->links) {
    if (link.kind != ops::AxisKind::kPreserved || link.axis_of_input(data)) continue;
    if (const auto axis = link.axis_of_input(weight)) found = std::max(found, *axis);
  }
  return found;
}

// Why a constant cannot be kept in 8 bits; empty where it can.
std::string why_wide(const ir::Tensor& tensor, ir::DataType read_as) {
  if (read_as != ir::DataType::kFloat) return fmt::format("its weight is {}, not float32", ir::name_of(read_as));
  if (std::string why = why_no_axes(tensor); !why.empty()) return why;
  return tensor.num_elements() == 0 ? "its weight has no elements" : "";
}

// The constant behind an operand; behind a Transpose too, where that is allowed. `why`: that it cannot be kept in 8 bits.
std::optional<WeightOperand> weight_at(const ir::Node& node, int input, bool may_be_transposed, std::string& why) {
  const auto stored = stored_weight(node.input(input));
  if (!stored || (stored->transposed && !may_be_transposed)) return std::nullopt;
  if (why.empty()) why = why_wide(*stored->tensor, stored->type);
  return WeightOperand{input, stored->value, stored->tensor, stored->transposed, -1};
}

// Of a product, none of whose operands is a constant that it takes.
std::string why_no_weight(const ir::Node& node) {
  if (constant_of(node.input(0))) return "its weight is the left operand, with a bias";
  if (std::string why = why_computed(node.input(1)); !why.empty()) return why;
  return "both operands are computed: such products keep their precision";
}

bool has_matrix(const ir::Node& node) {
  return std::ranges::any_of(node.inputs(), [](const ir::Value* value) {
    const ir::Tensor* tensor = constant_of(value);
    return tensor && tensor->dims.size() >= 2 && ir::is_floating(tensor->data_type);
  });
}

bool adds_bias_as_it_is(const ir::Node& node) {
  return node.attribute_float("alpha", 1) == 1 && node.attribute_float("beta", 1) == 1;
}

}  // namespace

bool is_coded(const ir::Value* value) {
  return value && value->producer() && value->producer()->op_type() == ops::kDequantize;
}

Considered consider(ir::Node& node, const ir::Model& model, const infer::Result& facts) {
  const ops::Operator* op = ops::registry().find(node);
  if (!op || op->op_class != ops::OpClass::kContraction) return {};
  WeightedNode found{.node = &node, .kernel = ops::int8_kernel(node)};
  const bool has_kernel = found.kernel == Int8Kernel::kConvolution || found.kernel == Int8Kernel::kProduct ||
                          found.kernel == Int8Kernel::kRecurrent;
  bool is_quantized = false, is_replaceable = false;
  std::string why;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    if (op->operands[i] != Role::kWeight) continue;
    is_replaceable = is_replaceable || (node.input(i) && node.input(i)->is_input() && node.input(i)->constant());
    const ir::Tensor* constant = node.input(i) && !node.input(i)->is_input() ? node.input(i)->constant() : nullptr;
    is_quantized = is_quantized || is_coded(node.input(i)) || (constant && ir::is_integer(constant->data_type));
    if (auto weight = weight_at(node, i, found.kernel == Int8Kernel::kProduct, why)) {
      // Kernels of products take scales by column for one matrix, not for several.
      const bool has_channels = found.kernel != Int8Kernel::kProduct || weight->tensor->dims.size() == 2;
      weight->axis = has_channels ? channel_axis(node, i, found.data, model, facts) : -1;
      if (weight->behind_transpose && weight->axis >= 0) weight->axis = 1 - weight->axis;
      found.weights.push_back(*weight);
    }
  }
  if (found.weights.empty() && !is_quantized && found.kernel == Int8Kernel::kProduct && node.inputs().size() == 2) {
    // A constant on the left: nothing but its rows would be channels, for which kernels have one scale.
    if (const auto weight = weight_at(node, 0, false, why)) {
      found.weights.push_back(*weight);
      found.data = 1;
    }
  }
  if (is_quantized || (found.kernel != Int8Kernel::kRecurrent && !node.output(0))) return {};
  if (found.weights.empty() && !is_replaceable && found.kernel == Int8Kernel::kProduct)
    return {{}, why_no_weight(node)};
  if (found.weights.empty() && !has_kernel && !has_matrix(node)) return {};
  if (!has_kernel) return {{}, fmt::format("ONNX Runtime has no 8-bit kernel for {}", ir::operator_name(node))};
  if (found.weights.empty())
    return {{}, std::string(is_replaceable ? kReplaceableWeight : "its weights are computed, not constant")};
  if (!why.empty()) return {{}, why};
  const ops::Fact& fact = facts.fact(node.input(found.data));
  if (fact.dtype != ir::DataType::kFloat) return {{}, "its activation is not float32"};
  if (constant_of(node.input(found.data))) return {{}, "all of its operands are constants"};
  const int bias = op->operands.find(Role::kBias);
  if (found.kernel != Int8Kernel::kRecurrent && bias >= 0 && adds_bias_as_it_is(node)) {
    const auto added = stored_weight(node.input(bias));
    const WeightOperand& weight = found.weights.front();
    if (added && added->type == ir::DataType::kFloat && added->tensor->dims.size() == 1 &&
        (weight.axis < 0 || weight.tensor->dims[static_cast<size_t>(weight.axis)] == added->tensor->dims[0])) {
      found.bias = bias;
      found.bias_value = added->value;
    }
  }
  return {std::move(found), {}};
}

}  // namespace thaw::quantizing::int8
