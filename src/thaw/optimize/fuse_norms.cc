// Norms over the last axis. Formulas: Ba et al., "Layer Normalization"; Zhang and Sennrich, "Root Mean Square Layer
// Normalization".
#include "thaw/optimize/fusions.h"

namespace thaw::optimizing {
namespace {

using ops::Emit;
using rewrite::any;
using rewrite::any_number;
using rewrite::Match;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;
using rewrite::power;
using rewrite::sqrt;

constexpr std::string_view kLayerNorm = "LayerNormalization", kRms = "RMSNormalization",
                           kOrtRms = "SimplifiedLayerNormalization";

Pattern mean_of(const Pattern& x, std::string_view name) {
  return op_of({"ReduceMean"}, {x}).with("keepdims", 1).named(name);
}

const Pattern kX = any("x");
const Pattern kCentred = (kX - mean_of(kX, "mean")).named("centred");
const Pattern kStandardized = kCentred / sqrt(mean_of(power(kCentred, 2), "variance") + any_number("epsilon"));
const Pattern kScaled = kX / sqrt(mean_of(power(kX, 2), "variance") + any_number("epsilon"));

bool is_over_last_axis(const Match& m, std::string_view name) {
  const ops::Fact& x = m.fact("x");
  return m.is_over_last_axis(name) && x.rank() > 0 && ir::is_floating(x.dtype) && m.number("epsilon") > 0;
}

// The width, which a weight of ones takes.
bool has_width(const Match& m) {
  const ops::Fact& x = m.fact("x");
  return x.dim(x.rank() - 1).is_constant() && x.dtype == ir::DataType::kFloat;
}

bool is_layer_norm(const Match& m) { return is_over_last_axis(m, "mean") && is_over_last_axis(m, "variance"); }
bool is_plain_layer_norm(const Match& m) { return is_layer_norm(m) && has_width(m); }
bool is_rms_norm(const Match& m) { return is_over_last_axis(m, "variance"); }
bool is_plain_rms_norm(const Match& m) { return is_rms_norm(m) && has_width(m); }

// A parameter of one number for each place of the last axis.
bool is_parameter(const Match& m, std::string_view name, std::string_view x) {
  const ops::Fact &parameter = m.fact(name), &data = m.fact(x);
  return parameter.rank() == 1 && data.rank() > 0 && parameter.dtype == data.dtype &&
         dim::same(parameter.dim(0), data.dim(data.rank() - 1));
}

ir::Value* ones(const Match& m, const Emit& at) {
  const ops::Fact& x = m.fact("x");
  const int64_t width = *x.dim(x.rank() - 1).constant();
  return at.floats({width}, std::vector<float>(static_cast<size_t>(width), 1.0F));
}

ops::Attributes attributes_of(const Match& m) {
  return {{"axis", int64_t{-1}}, {"epsilon", static_cast<float>(m.number("epsilon"))}};
}

ir::Value* rms(const Emit& at, std::string_view name, const Match& m, ir::Value* weight) {
  ops::Attributes attributes = attributes_of(m);
  attributes.push_back({"stash_type", int64_t{1}});
  return at.emit(name, {m["x"], weight}, std::move(attributes));
}

template <const std::string_view& name>
ir::Value* plain_rms(const Match& m, const Emit& at) {
  return rms(at, name, m, ones(m, at));
}

template <const std::string_view& name>
ir::Value* weighted_rms(const Match& m, const Emit& at) {
  return rms(at, name, m, m["weight"]);
}

bool is_weighted_rms(const Match& m) { return is_rms_norm(m) && is_parameter(m, "weight", "x"); }
bool is_weighted_layer_norm(const Match& m) { return is_layer_norm(m) && is_parameter(m, "weight", "x"); }

// A norm whose weight is one number, 1, for each place, or that has no bias yet, takes the product or sum after it.
bool has_plain_weight(const Match& m) {
  const ir::Value* ones = m["ones"];
  if (!ones->constant() || ones->is_input() || !is_parameter(m, "weight", "norm")) return false;
  for (const double number : ones->constant()->to_double())
    if (number != 1) return false;
  return true;
}

ir::Value* with_operand(const Match& m, const Emit& at, size_t place, ir::Value* operand) {
  const ir::Node& norm = m.node("norm");
  std::vector<ir::Value*> inputs(norm.inputs().begin(), norm.inputs().end());
  inputs.resize(std::max(inputs.size(), place + 1));
  inputs[place] = operand;
  return at.emit(norm.op_type(), std::move(inputs), {norm.attributes().begin(), norm.attributes().end()});
}

ir::Value* take_weight(const Match& m, const Emit& at) { return with_operand(m, at, 1, m["weight"]); }
ir::Value* take_bias(const Match& m, const Emit& at) { return with_operand(m, at, 2, m["bias"]); }
bool has_bias(const Match& m) { return is_parameter(m, "bias", "norm"); }

}  // namespace

std::vector<rewrite::Fusion> fused_norms(OptimizeTarget target) {
  const bool ort = target == OptimizeTarget::kOrt;
  const std::string_view rms_name = ort ? kOrtRms : kRms;
  const Pattern weight = any("weight");
  const Pattern layer_norm = op(kLayerNorm, {any("data"), any("ones")}).named("norm");
  const Pattern rms_norm = op(rms_name, {any("data"), any("ones")}).named("norm");
  return {
      {.name = kLayerNorm,
       .pattern = kStandardized * weight,
       .holds = is_weighted_layer_norm,
       .build = [](const Match& m,
                   const Emit& at) { return at.emit(kLayerNorm, {m["x"], m["weight"]}, attributes_of(m)); }},
      {.name = kLayerNorm,
       .pattern = kStandardized,
       .holds = is_plain_layer_norm,
       .build = [](const Match& m,
                   const Emit& at) { return at.emit(kLayerNorm, {m["x"], ones(m, at)}, attributes_of(m)); }},
      {.name = rms_name,
       .pattern = kScaled * weight,
       .holds = is_weighted_rms,
       .build = ort ? weighted_rms<kOrtRms> : weighted_rms<kRms>},
      {.name = rms_name,
       .pattern = kScaled,
       .holds = is_plain_rms_norm,
       .build = ort ? plain_rms<kOrtRms> : plain_rms<kRms>},
      {.name = "weight of a norm", .pattern = layer_norm * weight, .holds = has_plain_weight, .build = take_weight},
      {.name = "weight of a norm", .pattern = rms_norm * weight, .holds = has_plain_weight, .build = take_weight},
      {.name = "bias of a norm", .pattern = layer_norm + any("bias"), .holds = has_bias, .build = take_bias},
  };
}

}  // namespace thaw::optimizing
