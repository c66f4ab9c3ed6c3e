// Norms over all that follows the channels. Formulas: Ulyanov et al., "Instance Normalization"; Wu and He, "Group
// Normalization": that of groups is that of instances whose channels are the groups.
#include <algorithm>
#include <cmath>

#include "thaw/optimize/norm_parameters.h"
#include "thaw/optimize/norm_patterns.h"
#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

using ops::Emit;
using rewrite::any;
using rewrite::Match;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;

constexpr std::string_view kInstanceNorm = "InstanceNormalization", kGroupNorm = "GroupNormalization";
constexpr AxisRange kChannels{1, 1};

bool is_over_what_follows_channels(const Match& m, std::string_view name) {
  auto axes = m.axes(name);
  const int rank = m.fact("x").rank();
  if (!axes || rank < 3 || axes->size() != static_cast<size_t>(rank) - 2) return false;
  std::ranges::sort(*axes);
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != static_cast<int64_t>(i) + 2) return false;
  return true;
}

// ONNX Runtime has the operator for float32 alone.
bool is_instance_norm(const Match& m) {
  const ops::Fact& x = m.fact("x");
  return is_over_what_follows_channels(m, "mean") && is_over_what_follows_channels(m, "variance") &&
         x.dtype == ir::DataType::kFloat && x.dim(1).is_constant() && m.number("epsilon") > 0;
}

ir::Value* instance_norm(const Match& m, const Emit& at) {
  const ops::Fact& x = m.fact("x");
  const std::vector<int64_t> channels = *constant_dims(x, kChannels);
  return at.emit(kInstanceNorm, {m["x"], filled(1, channels, x.dtype, at), filled(0, channels, x.dtype, at)},
                 {{"epsilon", static_cast<float>(m.number("epsilon"))}});
}

bool is_instance_norm_by_moments(const Match& m) {
  const auto fits = [&](std::string_view name) {
    return !m.has(name) || lies_along(m.fact(name), m.fact("x"), kChannels);
  };
  return is_instance_norm(m) && fits("weight") && fits("bias");
}

ir::Value* instance_norm_by_moments(const Match& m, const Emit& at) {
  const ops::Fact& x = m.fact("x");
  const auto own = [&](std::string_view name, double otherwise) {
    if (m.has(name)) return as_dims(m[name], m.fact(name), x, kChannels, at);
    return filled(otherwise, *constant_dims(x, kChannels), x.dtype, at);
  };
  return at.emit(kInstanceNorm, {m["x"], own("weight", 1), own("bias", 0)},
                 {{"epsilon", static_cast<float>(m.number("epsilon"))}});
}

bool has_plain_scale(const Match& m) { return is_filled_with(m["scale"], 1) && is_filled_with(m["shift"], 0); }

// Before a bias stands, the scale may be multiplied.
bool can_take_scale(const Match& m) {
  return has_plain_scale(m) && lies_along(m.fact("weight"), m.fact("norm"), kChannels);
}
bool can_take_shift(const Match& m) {
  return is_filled_with(m["shift"], 0) && lies_along(m.fact("bias"), m.fact("norm"), kChannels);
}

ir::Value* with_parameter(const Match& m, const Emit& at, size_t position, std::string_view name) {
  const ir::Node& norm = m.node("norm");
  std::vector<ir::Value*> inputs(norm.inputs().begin(), norm.inputs().end());
  inputs[position] = as_dims(m[name], m.fact(name), m.fact("norm"), kChannels, at);
  return at.emit(norm.op_type(), std::move(inputs), {norm.attributes().begin(), norm.attributes().end()});
}

ir::Value* take_scale(const Match& m, const Emit& at) { return with_parameter(m, at, 1, "weight"); }
ir::Value* take_shift(const Match& m, const Emit& at) { return with_parameter(m, at, 2, "bias"); }

// x as (n, groups, …), normed, and as it was: each group is a run of whole channels.
bool is_group_norm(const Match& m) {
  const ops::Fact &x = m.fact("x"), &split = m.fact("split"), &result = m.fact(m.root());
  if (!has_plain_scale(m) || x.rank() < 3 || split.rank() < 3 || result.rank() != x.rank()) return false;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (!dim::same(x.dim(axis), result.dim(axis))) return false;
  const auto channels = x.dim(1).constant(), groups = split.dim(1).constant();
  return dim::same(x.dim(0), split.dim(0)) && channels && groups && *groups > 0 && *channels % *groups == 0;
}

// Before opset 21 the operator has a scale for each group.
ir::Value* group_norm(const Match& m, const Emit& at) {
  if (at.writer().opset() < 21) throw ops::CannotWrite{"that takes GroupNormalization, as from opset 21 on"};
  const ops::Fact& x = m.fact("x");
  const std::vector<int64_t> channels = *constant_dims(x, kChannels);
  return at.emit(kGroupNorm, {m["x"], filled(1, channels, x.dtype, at), filled(0, channels, x.dtype, at)},
                 {{"epsilon", m.node("norm").attribute_float("epsilon", 1e-5F)},
                  {"num_groups", *m.fact("split").dim(1).constant()}});
}

}  // namespace

std::vector<rewrite::Fusion> fused_group_norms(OptimizeTarget target) {
  static const Pattern kInstance = standardized(MeansBy::kMeans), kByMoments = standardized_by_moments(MeansBy::kMeans);
  const Pattern norm = op_of({kInstanceNorm, kGroupNorm}, {any("data"), any("scale"), any("shift")}).named("norm");
  const Pattern split = op_of({"Reshape"}, {any("x")}).named("split");
  std::vector<rewrite::Fusion> fusions{
      {.name = kInstanceNorm,
       .pattern = kByMoments,
       .holds = is_instance_norm_by_moments,
       .build = instance_norm_by_moments},
      {.name = kInstanceNorm, .pattern = kInstance, .holds = is_instance_norm, .build = instance_norm},
      {.name = "scale of a norm", .pattern = norm * any("weight"), .holds = can_take_scale, .build = take_scale},
      {.name = "bias of a norm", .pattern = norm + any("bias"), .holds = can_take_shift, .build = take_shift},
  };
  // ONNX Runtime's CPU runs GroupNormalization as the arithmetic that defines it: slower than the norm of instances.
  if (target != OptimizeTarget::kOrt)
    fusions.push_back(
        {.name = kGroupNorm,
         .pattern = op_of({"Reshape"}, {op(kInstanceNorm, {split, any("scale"), any("shift")}).named("norm")}),
         .holds = is_group_norm,
         .build = group_norm});
  return fusions;
}

}  // namespace thaw::optimizing
