// com.microsoft's FusedConv and FusedGemm: a convolution or a product and its activation. What is added between a convolution and
// its activation stays an Add: ONNX Runtime lays out the convolution for its CPU and adds on the way out itself, and of a
// FusedConv with a sum it does neither.
#include <limits>
#include <optional>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {
namespace {

bool is_of_onnx(const ir::Node& node, std::string_view op) { return node.domain().empty() && node.op_type() == op; }

// What ONNX Runtime's CPU does on the way out of either, with its numbers; nullopt for others.
std::optional<std::vector<float>> activation_numbers(const ir::Node& node) {
  using Numbers = std::vector<float>;
  if (is_of_onnx(node, "Relu") || is_of_onnx(node, "Sigmoid") || is_of_onnx(node, "Tanh")) return Numbers();
  if (is_of_onnx(node, "LeakyRelu")) return Numbers{node.attribute_float("alpha", 0.01F)};
  if (is_of_onnx(node, "HardSigmoid"))
    return Numbers{node.attribute_float("alpha", 0.2F), node.attribute_float("beta", 0.5F)};
  return std::nullopt;
}

// Of a Clip; before opset 11 they are attributes.
std::optional<std::vector<float>> clip_limits(const ir::Node& clip) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto limit = [&](int input, std::string_view attribute, float none) -> std::optional<float> {
    if (!clip.input(input)) return clip.attribute_float(attribute, none);
    const auto number = rewrite::number_of(*clip.input(input));
    return number ? std::optional(static_cast<float>(*number)) : std::nullopt;
  };
  const auto low = limit(1, "min", -kLargest), high = limit(2, "max", kLargest);
  if (!low || !high) return std::nullopt;
  return std::vector{*low, *high};
}

// The attributes that say it, by what it is fused into; empty where it is not.
ops::Attributes said_of(const ir::Node& activation, bool of_conv) {
  const bool clips = of_conv && is_of_onnx(activation, "Clip");
  const auto numbers = clips ? clip_limits(activation) : activation_numbers(activation);
  if (!numbers) return {};
  ops::Attributes said = {{"activation", activation.op_type()}};
  if (of_conv && !numbers->empty()) said.push_back({"activation_params", *numbers});
  constexpr std::string_view kNumbers[] = {"activation_alpha", "activation_beta"};
  for (size_t i = 0; !of_conv && i < numbers->size(); ++i) said.push_back({std::string(kNumbers[i]), (*numbers)[i]});
  return said;
}

}  // namespace

int fuse_conv_activations(Context& context) {
  infer::Inference& facts = context.facts();
  return rewrite::for_sites(context, [&](ir::Node* conv) {
    ir::Value* output = conv->output(0);
    const bool is_conv = is_of_onnx(*conv, "Conv");
    if ((!is_conv && !is_of_onnx(*conv, "Gemm")) || !output || !is_read_once(*output)) return 0;
    if (facts.fact(output).dtype != ir::DataType::kFloat) return 0;
    ir::Node* activation = output->uses().front().node;
    if (activation->graph() != conv->graph() || activation->input(0) != output || !activation->output(0)) return 0;
    const ops::Attributes said = said_of(*activation, is_conv);
    if (said.empty()) return 0;
    const std::string fused = "Fused" + conv->op_type();
    ops::Attributes attributes(conv->attributes().begin(), conv->attributes().end());
    attributes.insert(attributes.end(), said.begin(), said.end());
    rewrite::Patch patch(context.model, {});
    patch.emitter().set_origin(conv->name.empty() ? output->name() : conv->name);
    context.changes.made.push_back({.kind = fused,
                                    .location = conv->describe(),
                                    .replaced = {{conv->op_type() + " and " + activation->op_type(), fused}}});
    const auto made =
        rewrite::emit_node(patch.before(activation), {.op = fused,
                                                      .inputs = {conv->inputs().begin(), conv->inputs().end()},
                                                      .attributes = std::move(attributes),
                                                      .domain = ops::kMicrosoft});
    patch.replace(activation->output(0), made.front());
    activation->graph()->remove_node(activation);
    conv->graph()->remove_node(conv);
    patch.apply(facts);
    return 1;
  });
}

}  // namespace thaw::optimizing
