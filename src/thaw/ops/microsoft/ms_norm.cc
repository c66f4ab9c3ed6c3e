// Normalizations, biases and activations of com.microsoft, and those that ONNX Runtime keeps in ai.onnx.
#include <string>

#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

// Each of these inputs broadcasts to input 0, which the output is shaped as.
void keep_shape_with(Context& ctx, std::initializer_list<int> others, std::string_view what) {
  keep_shape(ctx);
  if (!ctx.input(0).has_rank()) return;
  for (int i : others)
    if (ctx.has_input(i)) require_broadcasts_to(ctx, i, *ctx.input(0).shape, what);
}

std::optional<Shape> with_last(const Fact& x, Dim last) {
  if (!x.has_rank() || x.rank() == 0) return std::nullopt;
  Shape shape = *x.shape;
  shape.back() = last;
  return shape;
}

// Inputs: data, skip, gamma, then beta and bias. Outputs: normalized, mean, inverse deviation, the sum before
// normalizing.
void skip_layer_norm_rule(Context& ctx) {
  keep_shape_with(ctx, {1, 2, 3, 4}, "skip, scale and bias of a normalization");
  const Fact& x = ctx.input(0);
  for (int o : {1, 2})
    if (ctx.wants_output(o)) ctx.set_tensor(o, DataType::kFloat, with_last(x, 1));
  if (ctx.wants_output(3)) shape_of_input(ctx, 3, 0, x.dtype);
}

// SimplifiedLayerNormalization: a root-mean-square norm that ONNX Runtime writes into ai.onnx.
void simplified_layer_norm_rule(Context& ctx) {
  keep_shape_with(ctx, {1}, "scale of a normalization");
  const Fact& x = ctx.input(0);
  if (!ctx.wants_output(1) || !x.has_rank() || x.rank() == 0) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", -1), x.rank());
  if (!axis) return;
  Shape statistics = *x.shape;
  for (int k = *axis; k < x.rank(); ++k) statistics[k] = 1;
  ctx.set_tensor(1, data_type_from_attr(ctx.attr_int("stash_type", 1)), std::move(statistics));
}

void embed(Context& ctx, int words, int gamma, DataType dtype) {
  const Fact &ids = ctx.input(0), &table = ctx.input(words), &scale = ctx.input(gamma);
  if (ids.has_rank() && ids.rank() != 2)
    return ctx.invalid("the word ids have rank " + std::to_string(ids.rank()) + ", not 2");
  Dim batch = ids.has_rank() ? ids.dim(0) : Dim(), length = ids.has_rank() ? ids.dim(1) : Dim();
  Dim hidden = table.rank() == 2 ? table.dim(1) : Dim();
  if (scale.rank() == 1)
    hidden =
        ctx.require_equal(hidden, scale.dim(0), "hidden size of the embedding and its scale", {words, 1}, {gamma, 0});
  ctx.set_tensor(0, dtype, Shape{batch, length, hidden});
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt32, Shape{batch});
  if (ctx.wants_output(2)) ctx.set_tensor(2, dtype, Shape{batch, length, hidden});
}

void embed_layer_norm_rule(Context& ctx) { embed(ctx, 2, 5, ctx.input(2).dtype); }
void quantized_embed_layer_norm_rule(Context& ctx) { embed(ctx, 2, 5, ctx.input(8).dtype); }

void group_norm_rule(Context& ctx) {
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

void bias_rule(Context& ctx) { keep_shape_with(ctx, {1}, "a bias"); }
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

}  // namespace

void add_ms_norm_ops(Registry& r) {
  auto add_op = [&r](std::string_view name, ShapeRule rule, OpClass kind = OpClass::kOther, bool deterministic = true) {
    r.add({kMicrosoft, name, rule, kind, deterministic});
  };
  add_op("SkipLayerNormalization", skip_layer_norm_rule);
  add_op("SkipSimplifiedLayerNormalization", skip_layer_norm_rule);
  add_op("EmbedLayerNormalization", embed_layer_norm_rule);
  add_op("QEmbedLayerNormalization", quantized_embed_layer_norm_rule);
  add_op("GroupNorm", group_norm_rule);
  add_op("SkipGroupNorm", group_norm_rule);
  add_op("GatedRMSNorm", keep_shape);
  add_op("BranchwiseRMSNorm", keep_shape);
  for (const char* name : {"Gelu", "QuickGelu", "ScaledSiLU"}) add_op(name, keep_shape, OpClass::kElementwise);
  add_op("FastGelu", bias_rule, OpClass::kElementwise);
  add_op("BiasGelu", bias_rule, OpClass::kElementwise);
  add_op("BiasAdd", bias_add_rule, OpClass::kElementwise);
  add_op("BiasSoftmax", keep_shape);
  add_op("BiasSplitGelu", bias_split_gelu_rule);
  add_op("GatedAdd", same_operands_rule);
  add_op("BiasDropout", bias_dropout_rule<false>, OpClass::kOther, false);
  add_op("BitmaskBiasDropout", bias_dropout_rule<true>, OpClass::kOther, false);
  add_op("BitmaskDropout", bitmask_dropout_rule, OpClass::kOther, false);
  r.add({"", "SimplifiedLayerNormalization", simplified_layer_norm_rule, OpClass::kOther});
  for (const char* name : {"Affine", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"})
    r.add({"", name, keep_shape, OpClass::kElementwise});
}

}  // namespace thaw::ops
