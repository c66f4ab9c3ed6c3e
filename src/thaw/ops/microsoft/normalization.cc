// Normalizations of com.microsoft, and the one that ONNX Runtime keeps in ai.onnx.
#include "thaw/ops/onnx/normalization.h"

#include <string>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using ir::DataType;

namespace {

constexpr int kMostSkipAxes = 3;  // that kernels of skip normalizations take

// Inputs: data, skip, gamma, then beta and bias. Outputs: normalized, mean, inverse deviation, the sum before
// normalizing.
void skip_layer_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (x.has_rank() && x.rank() >= 2) {
    const int rank = x.rank();
    for (int i : {2, 3, 4}) require_axis(ctx, i, 1, 0, x.dim(rank - 1), "scale and bias of a normalization");
    // The residual may lack the batch, or have one of 1.
    const int skip = ctx.input(1).rank();
    for (int k = 1; k <= 2 && k <= skip; ++k)
      require_axis(ctx, 1, skip, skip - k, x.dim(rank - k), "data and residual of a normalization");
    if (skip == rank && rank == 3) require_one_or(ctx, ctx.input(1).dim(0), x.dim(0), "batch of a residual", {1, 0});
  }
  for (int o : {1, 2})
    if (ctx.wants_output(o)) ctx.set_tensor(o, DataType::kFloat, with_last(x, 1));
  if (ctx.wants_output(3)) shape_of_input(ctx, 3, 0, x.dtype);
}

// SimplifiedLayerNormalization: a root-mean-square norm that ONNX Runtime writes into ai.onnx.
// Its result is of the scale's type.
void simplified_layer_norm_rule(Context& ctx) {
  keep_shape_with(ctx, {1}, "scale of a normalization");
  if (ctx.input(1).dtype != DataType::kUndefined) shape_of_input(ctx, 0, 0, ctx.input(1).dtype);
  const Fact& x = ctx.input(0);
  if (!ctx.wants_output(1) || !x.has_rank() || x.rank() == 0) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", -1), x.rank());
  if (!axis) return;
  Shape statistics = *x.shape;
  for (int k = *axis; k < x.rank(); ++k) statistics[k] = 1;
  ctx.set_tensor(1, data_type_from_attr(ctx.attr_int("stash_type", 1)), std::move(statistics));
}

void microsoft_group_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, x.dtype);  // SkipGroupNorm's sum
  if (!x.has_rank()) return;
  if (x.rank() < 3) return ctx.invalid("GroupNorm needs rank 3 or more, not " + std::to_string(x.rank()));
  int axis = ctx.attr_int("channels_last", 1) != 0 ? x.rank() - 1 : 1;
  int64_t groups = ctx.attr_int("groups", 0);
  if (groups < 1) return ctx.invalid("groups is missing or not positive");
  ctx.require_divisible(x.dim(axis), groups, "GroupNorm's channels by groups", {0, axis});
  for (int i : {1, 2})
    if (ctx.input(i).rank() == 1)
      ctx.require_equal(x.dim(axis), ctx.input(i).dim(0), "GroupNorm's channels and its scale", {0, axis}, {i, 0});
}

// GroupNorm, and SkipGroupNorm with a residual that may lack the axes between batch and channels.
std::optional<AxesMap> group_norm_axes(NodeView& view) {
  const bool is_last = view.attr_int("channels_last", 1) != 0;
  return match_axes(is_last ? "b s~... c~, c~, c~, b s~... c~, c~ -> b s~... c~, b s~... c~"
                            : "b c~ s~..., c~, c~, b c~ s~..., c~ -> b c~ s~..., b c~ s~...",
                    view);
}

// The axes [branches, hidden], or both in one.
std::optional<AxesMap> branchwise_axes(NodeView& view) {
  if (view.attr_int("num_branches", 0) > 0) return match_axes("... m~ -> ... m~", view);
  return match_axes("... c h~, c h~ -> ... c h~ | ... c~ h~, _ -> ... c~ h~", view);
}

}  // namespace

void add_microsoft_normalization_ops(Registry& r) {
  using enum Role;
  // The kernels of these sum squares in the type of the input.
  r.add({.domain = kMicrosoft,
         .name = "SkipLayerNormalization",
         .shape = skip_layer_norm_rule,
         .operands = {kData, kData, kBias, kBias, kBias},
         .axes = axes_by("... c~, ... c~, c~, c~, c~ -> ... c~, ... _, ... _, ... c~", kMostSkipAxes),
         .standard = standard_skip_layer_norm,
         .widens = true});
  r.add({.domain = kMicrosoft,
         .name = "SkipSimplifiedLayerNormalization",
         .shape = skip_layer_norm_rule,
         .operands = {kData, kData, kBias, kBias},
         .axes = axes_by("... c~, ... c~, c~, c~ -> ... c~, ... _, ... _, ... c~", kMostSkipAxes),
         .standard = standard_skip_rms_norm,
         .widens = true});
  r.add({.domain = kMicrosoft,
         .name = "GroupNorm",
         .shape = microsoft_group_norm_rule,
         .operands = {kData, kBias, kBias},
         .axes = axes_by(group_norm_axes),
         .magnitude = magnitude_of_norm});
  r.add({.domain = kMicrosoft,
         .name = "SkipGroupNorm",
         .shape = microsoft_group_norm_rule,
         .operands = {kData, kBias, kBias, kData, kBias},
         .axes = axes_by(group_norm_axes),
         .magnitude = magnitude_of_norm});
  r.add({.domain = kMicrosoft,
         .name = "GatedRMSNorm",
         .shape = keep_shape,
         .operands = {kData, kBias, kData},
         .axes = axes_by("... c~, c~, ... c~ -> ... c~"),
         .magnitude = magnitude_of_norm});
  r.add({.domain = kMicrosoft,
         .name = "BranchwiseRMSNorm",
         .shape = keep_shape,
         .operands = {kData, kBias},
         .axes = axes_by(branchwise_axes),
         .magnitude = magnitude_of_norm});
  r.add({.name = "SimplifiedLayerNormalization",
         .shape = simplified_layer_norm_rule,
         .operands = {kData, kBias},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = -1}},
         .axes = axes_by(layer_norm_axes),
         .batch = batch_with(batch_shifting_axes),
         .standard = standard_simplified_layer_norm,
         .magnitude = magnitude_of_norm});
}

}  // namespace thaw::ops
