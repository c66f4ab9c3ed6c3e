// Products and convolutions of com.microsoft in ONNX's operators.
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "thaw/ops/microsoft/standard.h"

namespace thaw::ops {
namespace {

struct ActivationForm {
  std::string_view name;
  std::vector<std::string_view> parameters;  // attributes of ONNX's operator, each of which the fused one must have
};

const ActivationForm kActivations[] = {
    {"Relu", {}},
    {"Sigmoid", {}},
    {"Tanh", {}},
    {"Softplus", {}},
    {"Softsign", {}},
    {"LeakyRelu", {"alpha"}},
    {"Elu", {"alpha"}},
    {"Celu", {"alpha"}},
    {"ThresholdedRelu", {"alpha"}},
    {"HardSigmoid", {"alpha", "beta"}},
    {"Selu", {"alpha", "gamma"}},
};

const ActivationForm& form_of(std::string_view activation) {
  const auto found = std::ranges::find(kActivations, activation, &ActivationForm::name);
  if (found == std::end(kActivations))
    throw NoEqual{"its activation '" + std::string(activation) + "' has no operator here"};
  return *found;
}

ir::Value* activated(const Emit& at, ir::Value* x, const ActivationForm& form, std::span<const float> parameters) {
  if (parameters.size() != form.parameters.size())
    throw NoEqual{"the parameters of its activation '" + std::string(form.name) + "' are not there"};
  Attributes attributes;
  for (size_t i = 0; i < parameters.size(); ++i) attributes.push_back({std::string(form.parameters[i]), parameters[i]});
  return at.emit(form.name, {x}, std::move(attributes));
}

// As FusedGemm has it: activation_alpha is the activation's alpha.
ir::Value* activated_by_name(AdapterContext& n, ir::Value* x) {
  const std::string_view activation = n.attr_string("activation", "");
  if (activation.empty()) return x;
  const ActivationForm& form = form_of(activation);
  std::vector<float> parameters;
  for (const std::string_view name : form.parameters) {
    const std::string own = "activation_" + std::string(name);
    if (n.has_attribute(own)) parameters.push_back(static_cast<float>(n.attr_float(own, 0)));
  }
  return activated(n.at(), x, form, parameters);
}

// As FusedConv has it: a list. The bounds of Clip are operands by now.
ir::Value* activated_by_list(AdapterContext& n, ir::Value* x) {
  const std::string_view activation = n.attr_string("activation", "");
  if (activation.empty()) return x;
  const ir::Attribute* given = n.attribute("activation_params");
  const auto* list = given ? given->as<std::vector<float>>() : nullptr;
  const std::vector<float> parameters = list ? *list : std::vector<float>();
  if (activation != "Clip") return activated(n.at(), x, form_of(activation), parameters);
  if (parameters.size() != 2) throw NoEqual{"the bounds of its Clip are not there"};
  const ir::DataType type = floating_type(n, 0);
  return n.at().emit("Clip", {x, n.at().scalar(parameters[0], type), n.at().scalar(parameters[1], type)});
}

// The operand with its matrices transposed, or its first axis moved behind the other axes of the batch, or both.
ir::Value* transposed(AdapterContext& n, int i, bool matrix, bool batch) {
  ir::Value* x = n.changing().input(i);
  if (!matrix && !batch) return x;
  const int rank = n.input(i).rank();
  if (rank < 2) throw NoEqual{"the rank of what it turns is not known, or less than 2"};
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (batch) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (matrix) std::swap(order[order.size() - 2], order.back());
  return std::ranges::is_sorted(order) ? x : n.at().transpose(x, order);
}

}  // namespace

void standard_fused_matmul(AdapterContext& n) {
  const Emit& at = n.at();
  const auto is_set = [&](std::string_view name) { return n.attr_int(name, 0) != 0; };
  ir::Value* product = at.emit("MatMul", {transposed(n, 0, is_set("transA"), is_set("transBatchA")),
                                          transposed(n, 1, is_set("transB"), is_set("transBatchB"))});
  if (const double alpha = n.attr_float("alpha", 1); alpha != 1)
    product = at.mul(product, at.scalar(alpha, floating_type(n, 0)));
  n.become(0, product);
}

void standard_fused_gemm(AdapterContext& n) {
  Attributes attributes;
  for (const std::string_view name : {"alpha", "beta", "transA", "transB"})
    if (const ir::Attribute* given = n.attribute(name)) attributes.push_back(*given);
  std::vector<ir::Value*> inputs = {n.changing().input(0), n.changing().input(1)};
  if (n.has_input(2)) inputs.push_back(n.changing().input(2));
  n.become(0, activated_by_name(n, n.at().emit("Gemm", std::move(inputs), std::move(attributes))));
}

void standard_gemm_fast_gelu(AdapterContext& n) {
  const Emit& at = n.at();
  ir::Value* product = at.emit("MatMul", {n.changing().input(0), n.changing().input(1)});
  if (n.has_input(2)) product = at.add(product, n.changing().input(2));
  n.become(0, write_gelu(at, product, floating_type(n, 0), true));
}

void standard_fused_conv(AdapterContext& n) {
  Attributes attributes;
  for (const ir::Attribute& attribute : n.node().attributes())
    if (!attribute.name.starts_with("activation")) attributes.push_back(attribute);
  std::vector<ir::Value*> inputs = {n.changing().input(0), n.changing().input(1)};
  if (n.has_input(2)) inputs.push_back(n.changing().input(2));
  ir::Value* result = n.at().emit("Conv", std::move(inputs), std::move(attributes));
  if (n.has_input(3)) result = n.at().add(result, n.changing().input(3));
  n.become(0, activated_by_list(n, result));
}

}  // namespace thaw::ops
