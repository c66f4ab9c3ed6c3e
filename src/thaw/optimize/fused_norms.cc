// Norms over the last axes. Formulas: Ba et al., "Layer Normalization"; Zhang and Sennrich, "Root Mean Square Layer
// Normalization".
#include <algorithm>
#include <numeric>

#include "thaw/ir/data/floats.h"
#include "thaw/optimize/norm_parameters.h"
#include "thaw/optimize/norm_patterns.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/stands_for.h"

namespace thaw::optimizing {
namespace {

using ops::Emit;
using rewrite::any;
using rewrite::Match;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;

constexpr std::string_view kLayerNorm = "LayerNormalization", kRms = "RMSNormalization",
                           kOrtRms = "SimplifiedLayerNormalization";

// The axes that are normed, where they are the last ones and each part is over the same; nullopt for others.
std::optional<AxisRange> normed_axes(const Match& m, bool centred) {
  const ops::Fact& x = m.fact("x");
  std::optional<std::vector<int64_t>> axes;
  for (const std::string name : {"variance", "mean"}) {
    if (name == "mean" && !centred) continue;
    auto found = m.axes(name);
    if (!found || found->empty()) return std::nullopt;
    std::ranges::sort(*found);
    if (axes && *axes != *found) return std::nullopt;
    axes = std::move(found);
    const std::string share = name + " share";
    if (!m.has_number(share)) continue;
    double count = 1;
    for (const int64_t axis : *axes) count *= static_cast<double>(x.dim(static_cast<int>(axis)).constant().value_or(0));
    if (!rewrite::stands_for(m.number(share), 1 / count)) return std::nullopt;
  }
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != x.rank() - static_cast<int64_t>(axes->size() - i)) return std::nullopt;
  return AxisRange{static_cast<int>(axes->front()), static_cast<int>(axes->size())};
}

// Both operators compute in float32 whatever the type: that is more for 16 bits, and less for 64.
std::optional<AxisRange> axes_of_norm(const Match& m, bool centred) {
  const ops::Fact& x = m.fact("x");
  const bool fits = x.rank() > 0 && ir::is_floating(x.dtype) && x.dtype != ir::DataType::kDouble;
  return fits && m.number("epsilon") > 0 ? normed_axes(m, centred) : std::nullopt;
}

template <bool centred>
bool is_norm(const Match& m) {
  const auto axes = axes_of_norm(m, centred);
  return axes && constant_dims(m.fact("x"), *axes);
}

template <bool centred>
bool is_weighted_norm(const Match& m) {
  const auto axes = axes_of_norm(m, centred);
  return axes && lies_along(m.fact("weight"), m.fact("x"), *axes);
}

bool is_norm_by_moments(const Match& m) {
  const auto axes = axes_of_norm(m, true);
  const auto fits = [&](std::string_view name) { return !m.has(name) || lies_along(m.fact(name), m.fact("x"), *axes); };
  return axes && fits("weight") && fits("bias") && (m.has("weight") || constant_dims(m.fact("x"), *axes));
}

// ONNX Runtime has LayerNormalization at every opset, ONNX as from 17 on.
ir::Value* write_norm(const Match& m, const Emit& at, std::string_view name, bool ort, AxisRange axes,
                      ir::Value* weight, ir::Value* bias = nullptr) {
  std::vector<ir::Value*> inputs{m["x"], weight};
  if (bias) inputs.push_back(bias);
  ops::Attributes attributes{
      {"axis", int64_t{-axes.count}}, {"epsilon", static_cast<float>(m.number("epsilon"))}, {"stash_type", int64_t{1}}};
  return rewrite::emit_node(
             at, {.op = name, .inputs = std::move(inputs), .attributes = std::move(attributes), .as_it_is = ort})
      .front();
}

template <const std::string_view& name, bool centred, bool ort>
ir::Value* plain_norm(const Match& m, const Emit& at) {
  const AxisRange axes = *axes_of_norm(m, centred);
  const ops::Fact& x = m.fact("x");
  return write_norm(m, at, name, ort, axes, filled(1, *constant_dims(x, axes), x.dtype, at));
}

template <const std::string_view& name, bool centred, bool ort>
ir::Value* weighted_norm(const Match& m, const Emit& at) {
  const AxisRange axes = *axes_of_norm(m, centred);
  return write_norm(m, at, name, ort, axes, as_dims(m["weight"], m.fact("weight"), m.fact("x"), axes, at));
}

template <bool ort>
ir::Value* norm_by_moments(const Match& m, const Emit& at) {
  const AxisRange axes = *axes_of_norm(m, true);
  const ops::Fact& x = m.fact("x");
  const auto own = [&](std::string_view name) { return as_dims(m[name], m.fact(name), x, axes, at); };
  ir::Value* weight = m.has("weight") ? own("weight") : filled(1, *constant_dims(x, axes), x.dtype, at);
  return write_norm(m, at, kLayerNorm, ort, axes, weight, m.has("bias") ? own("bias") : nullptr);
}

// The norm on other operands.
ir::Value* again(const ir::Node& norm, std::vector<ir::Value*> inputs, const Emit& at) {
  return rewrite::emit_node(at, {.op = norm.op_type(),
                                 .inputs = std::move(inputs),
                                 .attributes = {norm.attributes().begin(), norm.attributes().end()},
                                 .as_it_is = true})
      .front();
}

// The norm by the root mean square of what has no mean is that by the variance.
bool is_of_centred(const Match& m) {
  const ir::Node& norm = m.node("norm");
  const int rank = m.fact("x").rank();
  const int64_t axis = norm.attribute_int("axis", -1);
  auto axes = m.axes("mean");
  if (!axes || rank < 1 || norm.outputs().size() > 1) return false;
  std::ranges::sort(*axes);
  const int64_t first = axis < 0 ? axis + rank : axis;
  if (static_cast<int64_t>(axes->size()) != rank - first) return false;
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != first + static_cast<int64_t>(i)) return false;
  return true;
}

template <bool ort>
ir::Value* norm_of_centred(const Match& m, const Emit& at) {
  const ir::Node& norm = m.node("norm");
  return rewrite::emit_node(at, {.op = kLayerNorm,
                                 .inputs = {m["x"], m["scale"]},
                                 .attributes = {norm.attributes().begin(), norm.attributes().end()},
                                 .as_it_is = ort})
      .front();
}

// A norm whose weight is 1 for each position, or that has no bias yet, takes the product or sum after it.
AxisRange axes_of_node(const Match& m) {
  const int rank = m.fact("norm").rank();
  const auto axis = static_cast<int>(m.node("norm").attribute_int("axis", -1));
  const int first = axis < 0 ? axis + rank : axis;
  return {first, rank - first};
}

bool can_take(const Match& m, std::string_view parameter) {
  const AxisRange axes = axes_of_node(m);
  return axes.first >= 0 && axes.count > 0 && lies_along(m.fact(parameter), m.fact("norm"), axes);
}

bool can_take_weight(const Match& m) { return can_take(m, "weight") && is_filled_with(m["ones"], 1); }
bool can_take_bias(const Match& m) { return can_take(m, "bias"); }

ir::Value* with_operand(const Match& m, const Emit& at, size_t position, std::string_view parameter) {
  const ir::Node& norm = m.node("norm");
  std::vector<ir::Value*> inputs(norm.inputs().begin(), norm.inputs().end());
  inputs.resize(std::max(inputs.size(), position + 1));
  inputs[position] = as_dims(m[parameter], m.fact(parameter), m.fact("norm"), axes_of_node(m), at);
  return again(norm, std::move(inputs), at);
}

ir::Value* take_weight(const Match& m, const Emit& at) { return with_operand(m, at, 1, "weight"); }
ir::Value* take_bias(const Match& m, const Emit& at) { return with_operand(m, at, 2, "bias"); }

// What a value was before a Cast to float32; null where there is none, and where it is not of this type.
ir::Value* narrow(const Match& m, const ir::Value* wide, ir::DataType type) {
  const ir::Node* cast = wide ? wide->producer() : nullptr;
  if (!cast || cast->op_type() != "Cast" || m.fact(wide).dtype != ir::DataType::kFloat) return nullptr;
  return m.fact(cast->input(0)).dtype == type ? cast->input(0) : nullptr;
}

// The same numbers in 16 bits, of a constant that was widened when it was folded; nullopt where one is no such number.
std::optional<ir::Tensor> narrowed(const ir::Value* wide, ir::DataType type) {
  const ir::Tensor* tensor = constant_of(wide);
  if (!tensor || tensor->data_type != ir::DataType::kFloat) return std::nullopt;
  const std::vector<double> numbers = tensor->to_double();
  std::vector<float> before(numbers.begin(), numbers.end()), after(before.size());
  std::vector<std::byte> bytes(before.size() * 2);
  ir::from_floats(before, type, bytes.data());
  ir::to_floats(type, bytes.data(), after);
  if (before != after) return std::nullopt;
  return ir::Tensor::from_bytes({}, type, tensor->dims, std::move(bytes));
}

// A norm in float32 between Casts, which the operator does by itself: it computes in float32.
bool is_between_casts(const Match& m) {
  const ir::Node& norm = m.node("norm");
  const ir::DataType type = m.fact(m.root()).dtype;
  if ((type != ir::DataType::kFloat16 && type != ir::DataType::kBfloat16) || norm.outputs().size() > 1) return false;
  if (norm.attribute_int("stash_type", 1) != 1 || !narrow(m, norm.input(0), type)) return false;
  const auto is_narrow = [&](ir::Value* value) { return narrow(m, value, type) || narrowed(value, type); };
  if (!is_narrow(norm.input(1)) && !is_filled_with(norm.input(1), 1)) return false;
  return !norm.input(2) || is_narrow(norm.input(2));
}

ir::Value* without_casts(const Match& m, const Emit& at) {
  const ir::Node& norm = m.node("norm");
  const ir::DataType type = m.fact(m.root()).dtype;
  std::vector<ir::Value*> inputs;
  for (ir::Value* input : norm.inputs()) {
    if (ir::Value* before = narrow(m, input, type)) {
      inputs.push_back(before);
      continue;
    }
    if (auto constant = narrowed(input, type)) {
      inputs.push_back(at.writer().constant(*std::move(constant)));
      continue;
    }
    const ops::Fact& weight = m.fact(input);
    const auto dims = constant_dims(weight, {0, weight.rank()});
    if (!dims) throw ops::CannotWrite{"that takes a weight of known sizes"};
    inputs.push_back(filled(1, *dims, type, at));
  }
  return again(norm, std::move(inputs), at);
}

}  // namespace

std::vector<rewrite::Fusion> fused_norms(OptimizeTarget target) {
  const bool ort = target == OptimizeTarget::kOrt;
  const std::string_view rms_name = ort ? kOrtRms : kRms;
  const Pattern weight = any("weight"), bias = any("bias");
  const Pattern layer_norm = op(kLayerNorm, {any("data"), any("ones")}).named("norm");
  const Pattern rms_norm = op(rms_name, {any("data"), any("ones")}).named("norm");
  const Pattern either_norm = op_of({kLayerNorm, rms_name}, {any("data"), any("scale")}).named("norm");
  static const Pattern kStandardized = standardized(MeansBy::kMeansOrSums), kScaled = scaled_by_root_mean_square();
  static const Pattern kByMoments = standardized_by_moments(MeansBy::kMeansOrSums);
  std::vector<rewrite::Fusion> fusions{
      {.name = kLayerNorm,
       .pattern = kByMoments,
       .holds = is_norm_by_moments,
       .build = ort ? norm_by_moments<true> : norm_by_moments<false>},
      {.name = kLayerNorm,
       .pattern = kStandardized * weight,
       .holds = is_weighted_norm<true>,
       .build = ort ? weighted_norm<kLayerNorm, true, true> : weighted_norm<kLayerNorm, true, false>},
      {.name = kLayerNorm,
       .pattern = kStandardized,
       .holds = is_norm<true>,
       .build = ort ? plain_norm<kLayerNorm, true, true> : plain_norm<kLayerNorm, true, false>},
      {.name = rms_name,
       .pattern = kScaled * weight,
       .holds = is_weighted_norm<false>,
       .build = ort ? weighted_norm<kOrtRms, false, true> : weighted_norm<kRms, false, false>},
      {.name = rms_name,
       .pattern = kScaled,
       .holds = is_norm<false>,
       .build = ort ? plain_norm<kOrtRms, false, true> : plain_norm<kRms, false, false>},
      {.name = "weight of a norm", .pattern = layer_norm * weight, .holds = can_take_weight, .build = take_weight},
      {.name = "weight of a norm", .pattern = rms_norm * weight, .holds = can_take_weight, .build = take_weight},
      {.name = "bias of a norm", .pattern = layer_norm + bias, .holds = can_take_bias, .build = take_bias},
      {.name = kLayerNorm,
       .pattern =
           op(rms_name, {any("x") - op_of({"ReduceMean"}, {any("x")}).with("keepdims", 1).named("mean"), any("scale")})
               .named("norm"),
       .holds = is_of_centred,
       .build = ort ? norm_of_centred<true> : norm_of_centred<false>},
      {.name = "norm between Casts",
       .pattern = op("Cast", {either_norm}),
       .holds = is_between_casts,
       .build = without_casts},
  };
  for (rewrite::Fusion& fusion : fused_group_norms(target)) fusions.push_back(std::move(fusion));
  for (rewrite::Fusion& fusion : fused_lengths()) fusions.push_back(std::move(fusion));
  return fusions;
}

}  // namespace thaw::optimizing
