// com.microsoft's FusedConv: a convolution and its activation. What is added between the two stays an Add: ONNX Runtime lays
// out the convolution for its CPU and adds on the way out itself, and of a FusedConv with a sum it does neither.
#include <optional>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/fusions.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

bool is_of_onnx(const ir::Node& node, std::string_view op) { return node.domain().empty() && node.op_type() == op; }

// What ONNX Runtime's CPU does on the way out of a convolution, with its numbers; nullopt for others.
std::optional<std::vector<float>> activation_numbers(const ir::Node& node) {
  using Numbers = std::vector<float>;
  if (is_of_onnx(node, "Relu") || is_of_onnx(node, "Sigmoid") || is_of_onnx(node, "Tanh")) return Numbers();
  if (is_of_onnx(node, "LeakyRelu")) return Numbers{node.attribute_float("alpha", 0.01F)};
  if (is_of_onnx(node, "HardSigmoid"))
    return Numbers{node.attribute_float("alpha", 0.2F), node.attribute_float("beta", 0.5F)};
  if (!is_of_onnx(node, "Clip") || node.attribute("min") || node.attribute("max")) return std::nullopt;
  Numbers limits;
  for (const int i : {1, 2}) {
    const auto limit = node.input(i) ? rewrite::number_of(*node.input(i)) : std::nullopt;
    if (!limit) return std::nullopt;
    limits.push_back(static_cast<float>(*limit));
  }
  return limits;
}

}  // namespace

int fuse_conv_activations(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  int count = 0;
  for (ir::Node* conv : model.graph->nodes()) {
    ir::Value* output = conv->output(0);
    if (!is_of_onnx(*conv, "Conv") || !output || !is_read_once(*output)) continue;
    if (facts.fact(output).dtype != ir::DataType::kFloat) continue;
    ir::Node* activation = output->uses().front().node;
    if (activation->graph() != conv->graph() || activation->input(0) != output || !activation->output(0)) continue;
    auto numbers = activation_numbers(*activation);
    if (!numbers) continue;
    ops::Attributes attributes(conv->attributes().begin(), conv->attributes().end());
    attributes.push_back({"activation", activation->op_type()});
    if (!numbers->empty()) attributes.push_back({"activation_params", std::move(*numbers)});
    rewrite::Patch patch(model, {});
    patch.emitter().set_origin(conv->name.empty() ? output->name() : conv->name);
    changes.made.push_back({.kind = "FusedConv",
                            .place = conv->describe(),
                            .replaced = {{"Conv and " + activation->op_type(), "FusedConv"}}});
    const auto made =
        rewrite::emit_node(patch.before(activation), {.op = "FusedConv",
                                                      .inputs = {conv->inputs().begin(), conv->inputs().end()},
                                                      .attributes = std::move(attributes),
                                                      .domain = ops::kMicrosoft});
    patch.replace(activation->output(0), made.front());
    activation->graph()->remove_node(activation);
    conv->graph()->remove_node(conv);
    patch.apply(facts);
    ++count;
  }
  return count;
}

}  // namespace thaw::optimizing
