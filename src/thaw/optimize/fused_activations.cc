// Activations. Formulas: Hendrycks and Gimpel, "Gaussian Error Linear Units" (Gelu and its approximations by tanh and
// sigmoid); Howard et al., "Searching for MobileNetV3" (HardSwish); Misra, "Mish".
#include <cmath>
#include <numbers>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/norm_parameters.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/stands_for.h"

namespace thaw::optimizing {
namespace {

using ops::Emit;
using rewrite::any;
using rewrite::any_number;
using rewrite::either;
using rewrite::Match;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;
using rewrite::power;

const Pattern kX = any("x");

// x (1 + g) / 2, multiplied out or not, half of x computed once or twice.
Pattern halved_with(const Pattern& g) {
  const Pattern half = (0.5 * kX).named("half");
  return either(
      {0.5 * kX * (1 + g), kX * (0.5 + 0.5 * g), half + half * g, 0.5 * kX + 0.5 * kX * g, 0.5 * (kX + kX * g)});
}

const Pattern kErfGelu = either(
    {halved_with(op("Erf", {kX / std::numbers::sqrt2})), 0.5 * kX * (1 - op("Erf", {-1 * kX / std::numbers::sqrt2}))});

// scale (x + 0.044715 x^3), multiplied out or not.
Pattern cubic(double scale) {
  const double cube = 0.044715 * scale;
  return either({scale * (kX + 0.044715 * power(kX, 3)), scale * kX * (1 + 0.044715 * power(kX, 2)),
                 scale * kX + cube * power(kX, 3), kX * (scale + cube * power(kX, 2))});
}

const double kTanhScale = std::sqrt(2 / std::numbers::pi);
// (1 + tanh(a)) / 2 is the sigmoid of 2 a, which is 1 / (1 + e^(-2 a)).
const Pattern kTanhGelu =
    either({halved_with(op("Tanh", {cubic(kTanhScale)})), kX* op("Sigmoid", {cubic(2 * kTanhScale)}),
            kX / (1 + op("Exp", {cubic(-2 * kTanhScale)}))});

const Pattern kSigmoid = power(1 + op("Exp", {any_number("slope") * kX}), -1);
const Pattern kGate = any("gated") / (1 + op("Exp", {any_number("slope") * kX}));
const Pattern kSwish = either({kX * op("Sigmoid", {kX}), kX* op("Sigmoid", {any_number("alpha") * kX}),
                               kX / (1 + op("Exp", {any_number("slope") * kX}))});
const Pattern kSoftplus = op("Log", {1 + op("Exp", {kX})});
// max(x, 0) + log(1 + e^-|x|), which does not overflow.
const Pattern kStableSoftplus = either({op("Relu", {kX}), op("Max", {kX, 0})}) + op("Softplus", {-1 * op("Abs", {kX})});
// tanh(log(1 + e)) is n / (n + 2) where n = e^2 + 2 e.
const Pattern kExp = op("Exp", {kX}).named("exp");
const Pattern kMishTerm = either({kExp * (kExp + 2), power(kExp, 2) + 2 * kExp}).named("term");
const Pattern kMish = either({kX * op("Tanh", {op("Softplus", {kX})}), kX* kMishTerm / (kMishTerm + 2)});
const Pattern kRamp = op_of({"Clip"}, {any_number("slope") * kX + any_number("offset"), 0, any_number("top")});
const Pattern kHardSwish = kX * op_of({"Clip"}, {kX + 3, 0, 6}) / 6;
const Pattern kHardSwishOf = kX * op("HardSigmoid", {kX}).named("gate");
const Pattern kRaised = op("Exp", {kX - op_of({"ReduceMax"}, {kX}).with("keepdims", 1).named("largest")}).named("exp");
const Pattern kSoftmax = kRaised / op_of({"ReduceSum"}, {kRaised}).with("keepdims", 1).named("sum");
const Pattern kLoweredSoftmax =
    op("Softmax", {kX - op_of({"ReduceMax"}, {kX}).with("keepdims", 1).named("largest")}).named("softmax");
const Pattern kLeakyRelu = op("Max", {kX, any_number("alpha") * kX});
const Pattern kOfSum = either({op("Gelu", {any("x") + any("bias")}, ops::kMicrosoft).named("gelu"),
                               op("Gelu", {any("x") + any("bias")}).named("gelu"),
                               op("FastGelu", {any("x") + any("bias")}, ops::kMicrosoft).named("gelu")});

ir::Value* microsoft(const Emit& at, std::string_view name, std::vector<ir::Value*> inputs,
                     ops::Attributes attributes = {}) {
  return rewrite::emit_node(
             at,
             {.op = name, .inputs = std::move(inputs), .attributes = std::move(attributes), .domain = ops::kMicrosoft})
      .front();
}

// Of the one operand.
template <const char* name>
ir::Value* plain(const Match& m, const Emit& at) {
  return at.emit(name, {m["x"]});
}
constexpr char kSoftplusName[] = "Softplus", kMishName[] = "Mish", kGeluName[] = "Gelu";

ir::Value* gelu_by_tanh(const Match& m, const Emit& at) {
  return at.emit("Gelu", {m["x"]}, {{"approximate", std::string("tanh")}});
}

// What x is multiplied by inside the sigmoid.
double slope_of_swish(const Match& m) {
  if (m.has_number("slope")) return -m.number("slope");
  return m.has_number("alpha") ? m.number("alpha") : 1;
}

bool is_swish(const Match& m) { return slope_of_swish(m) > 0; }

ir::Value* quick_gelu(const Match& m, const Emit& at) {
  return microsoft(at, "QuickGelu", {m["x"]}, {{"alpha", static_cast<float>(slope_of_swish(m))}});
}

// Before opset 24 there is no operator, but one for the sigmoid that stands in it (kGate).
ir::Value* swish(const Match& m, const Emit& at) {
  return at.emit("Swish", {m["x"]}, {{"alpha", static_cast<float>(slope_of_swish(m))}});
}

bool falls(const Match& m) { return m.number("slope") < 0; }

ir::Value* sigmoid(const Match& m, const Emit& at) {
  const double slope = -m.number("slope");
  return at.emit("Sigmoid", {slope == 1 ? m["x"] : at.mul(m["x"], at.scalar(slope, m.fact("x").dtype))});
}

ir::Value* gated(const Match& m, const Emit& at) { return at.mul(m["gated"], sigmoid(m, at)); }

ir::Value* hard_swish(const Match& m, const Emit& at) {
  if (at.writer().opset() >= 14) return at.emit("HardSwish", {m["x"]});
  return at.mul(m["x"], at.emit("HardSigmoid", {m["x"]}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}}));
}

bool is_a_sixth(const Match& m) {
  const ir::Node& gate = m.node("gate");
  return std::abs(gate.attribute_float("alpha", 0.2F) - 1.0F / 6) < 1e-6F && gate.attribute_float("beta", 0.5F) == 0.5F;
}

// A ramp between 0 and a number that it is divided by. Without an offset it is a Clip as it stands.
bool is_hard_sigmoid(const Match& m) {
  const double share = m.has_number("share") ? m.number("share") : 1;
  return rewrite::stands_for(share, 1 / m.number("top")) && m.number("offset") != 0 && m.number("slope") != 0;
}

ir::Value* hard_sigmoid(const Match& m, const Emit& at) {
  const double share = m.has_number("share") ? m.number("share") : 1;
  return at.emit("HardSigmoid", {m["x"]},
                 {{"alpha", static_cast<float>(m.number("slope") * share)},
                  {"beta", static_cast<float>(m.number("offset") * share)}});
}

// Over one axis, the last one before opset 13, where all behind the axis counted too.
bool is_softmax(const Match& m) {
  const auto of_sum = m.axes("sum"), of_largest = m.axes("largest");
  return of_sum && of_sum->size() == 1 && of_sum == of_largest && ir::is_floating(m.fact("x").dtype);
}

ir::Value* softmax(const Match& m, const Emit& at) {
  const int64_t axis = m.axes("sum")->front(), last = m.fact("x").rank() - 1;
  if (at.writer().opset() < 13 && axis != last) throw ops::CannotWrite{"that takes Softmax, as from opset 13 on"};
  return at.emit("Softmax", {m["x"]}, {{"axis", axis == last ? int64_t{-1} : axis}});
}

// Softmax takes the largest off by itself.
bool is_lowered(const Match& m) {
  const auto axes = m.axes("largest");
  const int64_t axis = m.node("softmax").attribute_int("axis", -1), rank = m.fact("x").rank();
  return m.node("softmax").attribute("axis") && axes && axes->size() == 1 &&
         axes->front() == (axis < 0 ? axis + rank : axis) && axes->front() == rank - 1;
}

ir::Value* softmax_alone(const Match& m, const Emit& at) {
  return rewrite::emit_node(at, {.op = "Softmax",
                                 .inputs = {m["x"]},
                                 .attributes = {{"axis", int64_t{m.fact("x").rank() - 1}}},
                                 .as_it_is = true})
      .front();
}

bool is_leaky(const Match& m) { return m.number("alpha") > 0 && m.number("alpha") < 1; }

ir::Value* leaky_relu(const Match& m, const Emit& at) {
  return at.emit("LeakyRelu", {m["x"]}, {{"alpha", static_cast<float>(m.number("alpha"))}});
}

// The constant operand that has a number for each position of the last axis of the other; null where neither is one.
ir::Value* bias_of(const Match& m) {
  for (const auto& [bias, other] : {std::pair("bias", "x"), std::pair("x", "bias")}) {
    const ops::Fact &b = m.fact(bias), &x = m.fact(other);
    if (x.rank() > 1 && m[bias]->constant() && lies_along(b, x, {x.rank() - 1, 1})) return m[bias];
  }
  return nullptr;
}

bool has_bias(const Match& m) { return bias_of(m) && !m.node("gelu").input(1); }

// BiasGelu, and FastGelu where it is the one by tanh.
ir::Value* gelu_of_bias(const Match& m, const Emit& at) {
  ir::Value* bias = bias_of(m);
  const std::string_view x = bias == m["x"] ? "bias" : "x", own = bias == m["x"] ? "x" : "bias";
  const ops::Fact& data = m.fact(x);
  bias = as_dims(bias, m.fact(own), data, {data.rank() - 1, 1}, at);
  const ir::Node& gelu = m.node("gelu");
  const bool by_tanh = gelu.op_type() != kGeluName || gelu.attribute_string("approximate", "none") == "tanh";
  return microsoft(at, by_tanh ? "FastGelu" : "BiasGelu", {m[x], bias});
}

}  // namespace

std::vector<rewrite::Fusion> fused_activations(OptimizeTarget target) {
  const bool ort = target == OptimizeTarget::kOrt;
  std::vector<rewrite::Fusion> fusions = {
      {.name = "HardSwish", .pattern = kHardSwish, .build = hard_swish},
      {.name = "HardSwish",
       .pattern = kHardSwishOf,
       .holds = is_a_sixth,
       .build = [](const Match& m, const Emit& at) { return at.emit("HardSwish", {m["x"]}); }},
      {.name = "HardSigmoid", .pattern = kRamp * any_number("share"), .holds = is_hard_sigmoid, .build = hard_sigmoid},
      {.name = "HardSigmoid", .pattern = kRamp, .holds = is_hard_sigmoid, .build = hard_sigmoid},
      {.name = kSoftplusName, .pattern = kSoftplus, .build = plain<kSoftplusName>},
      {.name = kSoftplusName, .pattern = kStableSoftplus, .build = plain<kSoftplusName>},
      {.name = kMishName, .pattern = kMish, .build = plain<kMishName>},
      {.name = "Softmax", .pattern = kSoftmax, .holds = is_softmax, .build = softmax},
      {.name = "Softmax", .pattern = kLoweredSoftmax, .holds = is_lowered, .build = softmax_alone},
      {.name = "LeakyRelu", .pattern = kLeakyRelu, .holds = is_leaky, .build = leaky_relu},
  };
  if (ort) {
    fusions.push_back({.name = kGeluName, .pattern = kErfGelu, .build = [](const Match& m, const Emit& at) {
                         return microsoft(at, kGeluName, {m["x"]});
                       }});
    fusions.push_back({.name = "FastGelu", .pattern = kTanhGelu, .build = [](const Match& m, const Emit& at) {
                         return microsoft(at, "FastGelu", {m["x"]});
                       }});
    fusions.push_back({.name = "QuickGelu", .pattern = kSwish, .holds = is_swish, .build = quick_gelu});
    fusions.push_back({.name = "Gelu of a sum", .pattern = kOfSum, .holds = has_bias, .build = gelu_of_bias});
  } else {
    fusions.push_back({.name = kGeluName, .pattern = kErfGelu, .build = plain<kGeluName>});
    fusions.push_back({.name = "Gelu by tanh", .pattern = kTanhGelu, .build = gelu_by_tanh});
    fusions.push_back({.name = "Swish", .pattern = kSwish, .holds = is_swish, .build = swish});
  }
  fusions.push_back({.name = "Sigmoid", .pattern = kSigmoid, .holds = falls, .build = sigmoid});
  fusions.push_back({.name = "Sigmoid", .pattern = kGate, .holds = falls, .build = gated});
  return fusions;
}

}  // namespace thaw::optimizing
