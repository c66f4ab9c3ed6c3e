#include "thaw/model/nn/layers.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::model {
namespace {

bool takes_bias(const Scope& scope, Bias bias) {
  return bias == Bias::kYes || (bias == Bias::kIfThere && scope.has("bias"));
}

}  // namespace

Var linear(const Scope& scope, Var x, int64_t in, int64_t out, Bias bias) {
  const Here here(scope);
  Net& net = scope.net();
  Var y = matmul(x, net.weight(scope.name("weight"), scope.weight("weight", {out, in}).transposed()));
  return takes_bias(scope, bias) ? y + scope.var("bias", {out}) : y;
}

Var concatenated_linear(const Scope& scope, const std::vector<std::pair<std::string_view, int64_t>>& layers, Var x,
                        int64_t in, Bias bias, std::string_view name) {
  const Scope fused = scope.in(name);
  const Here here(fused);
  Net& net = scope.net();
  std::optional<Weight> weights, biases;
  const auto append = [](std::optional<Weight>& all, const Weight& next) { all = all ? all->concat_rows(next) : next; };
  for (const auto& [layer, out] : layers) {
    const Scope one = scope.in(layer);
    append(weights, one.weight("weight", {out, in}));
    if (takes_bias(one, bias)) append(biases, one.weight("bias", {out}));
  }
  if (biases && biases->num_rows() != weights->num_rows()) {
    throw Error(ErrorCode::kUnsupported,
                {.what = fmt::format("only some of the layers of '{}' have a bias", scope.name()),
                 .where = scope.weights().checkpoint().where(),
                 .expected = "a bias for all of them, or for none",
                 .next = "fetch the checkpoint again"});
  }
  Var y = matmul(x, net.weight(fused.name("weight"), weights->transposed()));
  return biases ? y + net.weight(fused.name("bias"), *biases) : y;
}

Var rms_norm(const Scope& scope, Var x, int64_t features, double eps) {
  const Here here(scope);
  Net& net = scope.net();
  Var weight = scope.var("weight", {features});
  if (net.is_ort()) {
    // ONNX Runtime's own operator, which it registers in ONNX's domain; it accumulates in float32.
    return net.node("SimplifiedLayerNormalization", {x, weight}, x.type,
                    {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(eps)}, {"stash_type", int64_t{1}}});
  }
  Var wide = cast(x, ir::DataType::kFloat);
  Var scaled = wide / sqrt(reduce_mean(wide * wide, {-1}, /*keep_dims=*/true) + eps);
  return weight * cast(scaled, x.type);
}

Var layer_norm(const Scope& scope, Var x, int64_t features, double eps) {
  const Here here(scope);
  return scope.net().node("LayerNormalization", {x, scope.var("weight", {features}), scope.var("bias", {features})},
                          x.type, {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(eps)}});
}

Var activate(std::string_view name, Var x) {
  Net& net = *x.net;
  if (name == "gelu") {
    if (net.is_ort()) return net.node("Gelu", {x}, x.type, {}, "com.microsoft");
    return x * 0.5 * (erf(x * std::numbers::sqrt2 / 2.0) + 1.0);
  }
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") {
    if (net.is_ort()) return net.node("FastGelu", {x}, x.type, {}, "com.microsoft");
    const double scale = std::sqrt(2.0 / std::numbers::pi);
    return x * 0.5 * (tanh((x + x * x * x * 0.044715) * scale) + 1.0);
  }
  if (name == "quick_gelu") {
    if (net.is_ort()) return net.node("QuickGelu", {x}, x.type, {{"alpha", 1.702F}}, "com.microsoft");
    return x * sigmoid(x * 1.702);
  }
  if (name == "silu" || name == "swish") return x * sigmoid(x);
  if (name == "relu") return net.node("Relu", {x}, x.type);
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("the activation '{}' is not known", name),
               .where = "config.json",
               .expected = "gelu, gelu_pytorch_tanh, gelu_new, quick_gelu, silu, swish or relu",
               .next = "build another checkpoint, or report the model"});
}

Var gated_mlp(const Scope& scope, Var x, int64_t features, int64_t inner, std::string_view activation, Bias bias) {
  const Here here(scope);
  Var gate = linear(scope.in("gate_proj"), x, features, inner, bias);
  Var up = linear(scope.in("up_proj"), x, features, inner, bias);
  return linear(scope.in("down_proj"), activate(activation, gate) * up, inner, features, bias);
}

Var fused_gated_mlp(const Scope& scope, Var x, int64_t features, int64_t inner, std::string_view activation) {
  const Here here(scope);
  Net& net = scope.net();
  const Weight both = scope.in("gate_up_proj").weight("weight", {2 * inner, features});
  const auto half = [&](const char* name, int64_t first) {
    const Scope at = scope.in(name);
    const Here there(at);
    return matmul(x, net.weight(at.name("weight"), both.rows(first, inner).transposed()));
  };
  Var gate = half("gate_proj", 0), up = half("up_proj", inner);
  return linear(scope.in("down_proj"), activate(activation, gate) * up, inner, features, Bias::kNo);
}

Var mlp(const Scope& scope, std::string_view first, std::string_view second, Var x, int64_t in, int64_t inner,
        int64_t out, std::string_view activation) {
  const Here here(scope);
  return linear(scope.in(second), activate(activation, linear(scope.in(first), x, in, inner)), inner, out);
}

Var embedding(const Scope& scope, Var indices, int64_t entries, int64_t features) {
  const Here here(scope);
  return gather(scope.var("weight", {entries, features}), indices);
}

}  // namespace thaw::model
