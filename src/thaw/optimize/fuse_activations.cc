// Activations. Formulas: Hendrycks and Gimpel, "Gaussian Error Linear Units" (Gelu and its approximations by tanh and
// sigmoid); Howard et al., "Searching for MobileNetV3" (HardSwish); Misra, "Mish".
#include <cmath>
#include <numbers>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/fusions.h"

namespace thaw::optimizing {
namespace {

using ops::Emit;
using rewrite::any;
using rewrite::Match;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;
using rewrite::power;

const Pattern kX = any("x");
const double kTanhScale = std::sqrt(2 / std::numbers::pi);

const Pattern kGelu = 0.5 * kX * (1 + op("Erf", {kX / std::numbers::sqrt2}));
const Pattern kTanhGelu = 0.5 * kX * (1 + op("Tanh", {kTanhScale * (kX + 0.044715 * power(kX, 3))}));
const Pattern kFactoredTanhGelu = 0.5 * kX * (1 + op("Tanh", {kTanhScale * kX * (1 + 0.044715 * power(kX, 2))}));
const Pattern kQuickGelu = kX * op("Sigmoid", {1.702 * kX});
const Pattern kSilu = kX * op("Sigmoid", {kX});
const Pattern kMish = kX * op("Tanh", {op("Softplus", {kX})});
const Pattern kSoftplus = op("Log", {1 + op("Exp", {kX})});
const Pattern kHardSigmoid = op_of({"Clip"}, {kX + 3, 0, 6}) / 6;
const Pattern kHardSwish = kX * op_of({"Clip"}, {kX + 3, 0, 6}) / 6;
const Pattern kHardSwishOf = kX * op("HardSigmoid", {kX}).named("gate");
const Pattern kBiasGelu = op("Gelu", {any("x") + any("bias")}, ops::kMicrosoft);

ir::Value* microsoft(const Emit& at, std::string_view name, std::vector<ir::Value*> inputs,
                     ops::Attributes attributes = {}) {
  return rewrite::emit_node(
             at,
             {.op = name, .inputs = std::move(inputs), .attributes = std::move(attributes), .domain = ops::kMicrosoft})
      .front();
}

ir::Value* hard_sigmoid(const Match& m, const Emit& at) {
  return at.emit("HardSigmoid", {m["x"]}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
}

bool is_a_sixth(const Match& m) {
  const ir::Node& gate = m.node("gate");
  return std::abs(gate.attribute_float("alpha", 0.2F) - 1.0F / 6) < 1e-6F && gate.attribute_float("beta", 0.5F) == 0.5F;
}

// The operand of one axis, as long as the last of the other; null where neither is.
ir::Value* bias_of(const Match& m) {
  for (const auto& [bias, other] : {std::pair("bias", "x"), std::pair("x", "bias")}) {
    const ops::Fact &b = m.fact(bias), &x = m.fact(other);
    if (b.rank() == 1 && x.rank() > 1 && m[bias]->constant() && dim::same(b.dim(0), x.dim(x.rank() - 1)))
      return m[bias];
  }
  return nullptr;
}

bool has_bias(const Match& m) { return bias_of(m) != nullptr; }

ir::Value* bias_gelu(const Match& m, const Emit& at) {
  ir::Value* bias = bias_of(m);
  return microsoft(at, "BiasGelu", {bias == m["x"] ? m["bias"] : m["x"], bias});
}

}  // namespace

std::vector<rewrite::Fusion> fused_activations(OptimizeTarget target) {
  const bool ort = target == OptimizeTarget::kOrt;
  std::vector<rewrite::Fusion> fusions = {
      {.name = "HardSwish",
       .pattern = kHardSwish,
       .build = [](const Match& m, const Emit& at) { return at.emit("HardSwish", {m["x"]}); }},
      {.name = "HardSwish",
       .pattern = kHardSwishOf,
       .holds = is_a_sixth,
       .build = [](const Match& m, const Emit& at) { return at.emit("HardSwish", {m["x"]}); }},
      {.name = "HardSigmoid", .pattern = kHardSigmoid, .build = hard_sigmoid},
      {.name = "Softplus",
       .pattern = kSoftplus,
       .build = [](const Match& m, const Emit& at) { return at.emit("Softplus", {m["x"]}); }},
      {.name = "Mish",
       .pattern = kMish,
       .build = [](const Match& m, const Emit& at) { return at.emit("Mish", {m["x"]}); }},
  };
  if (!ort) {
    fusions.push_back({.name = "Gelu", .pattern = kGelu, .build = [](const Match& m, const Emit& at) {
                         return at.emit("Gelu", {m["x"]});
                       }});
    for (const Pattern& pattern : {kTanhGelu, kFactoredTanhGelu})
      fusions.push_back({.name = "Gelu by tanh", .pattern = pattern, .build = [](const Match& m, const Emit& at) {
                           return at.emit("Gelu", {m["x"]}, {{"approximate", std::string("tanh")}});
                         }});
    return fusions;
  }
  fusions.push_back({.name = "Gelu", .pattern = kGelu, .build = [](const Match& m, const Emit& at) {
                       return microsoft(at, "Gelu", {m["x"]});
                     }});
  for (const Pattern& pattern : {kTanhGelu, kFactoredTanhGelu})
    fusions.push_back({.name = "FastGelu", .pattern = pattern, .build = [](const Match& m, const Emit& at) {
                         return microsoft(at, "FastGelu", {m["x"]});
                       }});
  fusions.push_back({.name = "QuickGelu", .pattern = kQuickGelu, .build = [](const Match& m, const Emit& at) {
                       return microsoft(at, "QuickGelu", {m["x"]}, {{"alpha", 1.702F}});
                     }});
  fusions.push_back({.name = "SiLU", .pattern = kSilu, .build = [](const Match& m, const Emit& at) {
                       return microsoft(at, "QuickGelu", {m["x"]}, {{"alpha", 1.0F}});
                     }});
  fusions.push_back({.name = "BiasGelu", .pattern = kBiasGelu, .holds = has_bias, .build = bias_gelu});
  return fusions;
}

}  // namespace thaw::optimizing
