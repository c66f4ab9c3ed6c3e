#include "thaw/ops/onnx/sensitive_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "thaw/ops/rule/small_tensor.h"

namespace thaw::ops {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Without attributes that move the limits.
constexpr std::array kFixed = std::to_array<std::pair<std::string_view, SensitiveRange>>({
    {"Gelu", {-5, kUnlimited}},
    {"HardSwish", {-3, kUnlimited}},
    {"Mish", {-11, kUnlimited}},
    {"Relu", {0, kUnlimited}},
    {"Sigmoid", {-9, 9}},
    {"Softplus", {-9, kUnlimited}},
    {"Tanh", {-5, 5}},
});

// Where max(0, min(1, alpha x + beta)) is neither 0 nor 1.
std::optional<SensitiveRange> ramp(const ir::Node& node) {
  const double alpha = node.attribute_float("alpha", 0.2F), beta = node.attribute_float("beta", 0.5F);
  const double from = -beta / alpha, to = (1 - beta) / alpha;
  if (!(alpha > 0) || !std::isfinite(from) || !std::isfinite(to)) return std::nullopt;
  return SensitiveRange{from, to};
}

// A limit of Clip, which older opsets have as an attribute.
std::optional<double> limit(const ir::Node& node, int operand, std::string_view attribute) {
  const ir::Value* value = node.input(operand);
  if (!value)
    return node.attribute(attribute) ? std::optional<double>(node.attribute_float(attribute, 0)) : std::nullopt;
  const ir::Tensor* number = value->fixed_constant();
  if (!number) return std::nullopt;
  const ElementsPtr elements = small_elements(*number);
  return elements && elements->size() == 1 ? elements->front().as_double() : std::nullopt;
}

// Where the gate is 0, so is the product: what is below does not matter. At -11, a sigmoid leaves 2e-4 of it.
std::optional<SensitiveRange> behind_gate(const ir::Node& product, int operand) {
  const ir::Value *value = product.input(operand), *other = product.input(1 - operand);
  const ir::Node* gate = other ? other->producer() : nullptr;
  if (!gate || gate->inputs().empty() || gate->input(0) != value) return std::nullopt;
  if (!gate->domain().empty()) return std::nullopt;
  if (gate->op_type() == "Sigmoid") return SensitiveRange{-11, kUnlimited};
  if (gate->op_type() != "HardSigmoid") return std::nullopt;
  const std::optional<SensitiveRange> limits = ramp(*gate);
  return limits ? std::optional(SensitiveRange{limits->lowest, kUnlimited}) : std::nullopt;
}

}  // namespace

SensitiveRange sensitive_range(const ir::Node& node, int operand) {
  if (!node.domain().empty()) return {};
  const std::string_view name = node.op_type();
  if (name == "Mul" && node.inputs().size() == 2) return behind_gate(node, operand).value_or(SensitiveRange{});
  if (operand != 0) return {};
  if (name == "HardSigmoid") return ramp(node).value_or(SensitiveRange{});
  if (name == "Clip") return {limit(node, 1, "min").value_or(-kUnlimited), limit(node, 2, "max").value_or(kUnlimited)};
  const auto at = std::ranges::find(kFixed, name, &std::pair<std::string_view, SensitiveRange>::first);
  return at == kFixed.end() ? SensitiveRange{} : at->second;
}

}  // namespace thaw::ops
