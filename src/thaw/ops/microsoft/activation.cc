// Activations of com.microsoft and what is fused with them: biases, gates, dropout. Elementwise operators beside them,
// and those that ONNX Runtime keeps in ai.onnx.
#include <array>
#include <string>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using ir::DataType;

namespace {

constexpr int kMostSplitAxes = 3;  // that kernels of BiasSplitGelu take

void bias_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (x.has_rank() && x.rank() > 0) require_axis(ctx, 1, 1, 0, x.shape->back(), "a bias and the axis it is added to");
}
void bias_add_rule(Context& ctx) { keep_shape_with(ctx, {1, 2}, "a bias and a residual"); }

void bias_split_gelu_rule(Context& ctx) {
  keep_shape_with(ctx, {1}, "a bias");
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() == 0) return;
  ctx.require_divisible(x.shape->back(), 2, "BiasSplitGelu's halves", {0, x.rank() - 1});
  ctx.set_tensor(0, x.dtype, with_last(x, dim::floor_div(x.shape->back(), 2)));
}

// Mask: one byte an element, or with `bits` packed 32 to a number.
template <bool kBits>
void bias_dropout_rule(Context& ctx) {
  keep_shape_with(ctx, {1, 2}, "a bias and a residual");
  if (!ctx.wants_output(1)) return;
  if (kBits)
    ctx.set_tensor(1, DataType::kUint32, Shape{dim::ceil_div(ctx.input(0).num_elements(), 32)});
  else
    shape_of_input(ctx, 1, 0, DataType::kBool);
}

void bitmask_dropout_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kUint32, Shape{dim::ceil_div(ctx.input(0).num_elements(), 32)});
}

void same_operands_rule(Context& ctx) {
  ctx.set_tensor(0, first_dtype(ctx),
                 require_same_shape(ctx, ctx.input(0).shape, ctx.input(1).shape, "sizes of the operands"));
}

void broadcast_rule(Context& ctx) {
  constexpr std::array kBoth = {0, 1};
  ctx.set_tensor(0, first_dtype(ctx), broadcast_inputs(ctx, kBoth));
}

void hash_rule(Context& ctx) {
  shape_of_input(ctx, 0, 0, ctx.attr_int("positive", 1) != 0 ? DataType::kUint32 : DataType::kInt32);
}

void add_dropouts(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "BiasDropout",
         .shape = bias_dropout_rule<false>,
         .operands = {kData, kBias, kData, kSetting, kSetting},
         .axes = axes_by("..., ..., ... -> ..., ..."),
         .batch = no_batch(kDraws),
         .deterministic = false});
  r.add({.domain = kMicrosoft,
         .name = "BitmaskBiasDropout",
         .shape = bias_dropout_rule<true>,
         .operands = {kData, kBias, kData, kSetting, kSetting},
         .axes = axes_by("..., ..., ... -> ..."),
         .batch = no_batch(kDraws),
         .deterministic = false});
  r.add({.domain = kMicrosoft,
         .name = "BitmaskDropout",
         .shape = bitmask_dropout_rule,
         .operands = {kData, kSetting, kSetting},
         .axes = axes_by("... -> ..."),
         .batch = no_batch(kDraws),
         .deterministic = false});
}

}  // namespace

void add_microsoft_activation_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "Gelu",
         .shape = keep_shape,
         .op_class = OpClass::kElementwise,
         .standard = standard_gelu});
  r.add({.domain = kMicrosoft,
         .name = "QuickGelu",
         .shape = keep_shape,
         .op_class = OpClass::kElementwise,
         .standard = standard_quick_gelu});
  r.add({.domain = kMicrosoft,
         .name = "ScaledSiLU",
         .shape = keep_shape,
         .op_class = OpClass::kElementwise,
         .operands = {kData, kSetting},
         .axes = axes_by("... -> ...")});
  const auto add_biased = [&r](std::string_view name, AdapterRule standard) {
    r.add({.domain = kMicrosoft,
           .name = name,
           .shape = bias_rule,
           .op_class = OpClass::kElementwise,
           .operands = {kData, kBias},
           .axes = axes_by("... c, c -> ... c"),
           .standard = standard});
  };
  add_biased("FastGelu", standard_fast_gelu);
  add_biased("BiasGelu", standard_gelu);
  r.add({.domain = kMicrosoft,
         .name = "BiasAdd",
         .shape = bias_add_rule,
         .op_class = OpClass::kElementwise,
         .operands = {kData, kBias, kData},
         .axes = axes_by("b s c, c, b s c -> b s c"),
         .batch = batch_with(batch_by_axes),  // kernels take three axes
         .standard = standard_bias_add});
  r.add({.domain = kMicrosoft,
         .name = "BiasSoftmax",
         .shape = keep_shape,
         .operands = {kData, kMask},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 1}},
         .axes = no_axes("its bias broadcasts by a rule of its own")});
  r.add({.domain = kMicrosoft,
         .name = "BiasSplitGelu",
         .shape = bias_split_gelu_rule,
         .operands = {kData, kBias},
         .axes = axes_by("... c~, c~ -> ... c~", kMostSplitAxes),
         .standard = standard_bias_split_gelu});
  r.add({.domain = kMicrosoft,
         .name = "GatedAdd",
         .shape = same_operands_rule,
         .axes = axes_by("... c, ... c, ... _ -> ... c")});
  // The last axis holds a real and an imaginary part.
  r.add({"ComplexMul", "ComplexMulConj"}, {.domain = kMicrosoft,
                                           .shape = broadcast_rule,
                                           .axes = axes_by("... c~, ... c~ -> ... c~"),
                                           .batch = batch_with(batch_elementwise)});
  r.add({.domain = kMicrosoft,
         .name = "MurmurHash3",
         .shape = hash_rule,
         .axes = axes_by("... -> ..."),
         .batch = batch_with(batch_elementwise)});
  add_dropouts(r);
  r.add({"Affine", "ParametricSoftplus", "Scale", "ScaledTanh"},
        {.shape = keep_shape, .op_class = OpClass::kElementwise});
  // A bias for each channel, as an attribute.
  r.add({.name = "ImageScaler",
         .shape = keep_shape,
         .op_class = OpClass::kElementwise,
         .axes = axes_by("b c~ x... -> b c~ x..."),
         .batch = batch_with(batch_by_axes)});
}

}  // namespace thaw::ops
