// Normalizations keep their input's shape; what varies is the shape of scale, bias and statistics.
#include <string>

#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// States that a 1-D input has `size` elements; the better known of the two.
Dim require_vector(Context& ctx, int input, Dim size, At from, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (!fact.has_rank()) return size;
  if (fact.rank() == 1) return ctx.require_equal(size, fact.dim(0), what, from, {input, 0});
  ctx.invalid("input " + std::to_string(input) + " has rank " + std::to_string(fact.rank()) + ", not 1 (" +
              std::string(what) + ")");
  return size;
}

void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

// Channels of (N, C, …); a single axis is a batch of one channel.
Dim channels_of(const Fact& x) {
  if (!x.has_rank()) return {};
  return x.rank() >= 2 ? x.dim(1) : Dim(1);
}

void batch_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  // spatial = 0 (before opset 9) has statistics for every feature: the shape of one sample.
  if (ctx.opset() < 9 && ctx.attr_int("spatial", 1) == 0) {
    std::optional<Shape> sample;
    if (x.has_rank() && x.rank() >= 1) sample = Shape(x.shape->begin() + 1, x.shape->end());
    for (int i = 1; i < 5; ++i)
      sample = require_same_shape(ctx, sample, ctx.input(i).shape, "BatchNormalization's statistics");
    for (int o = 1; o < ctx.num_outputs(); ++o)
      if (ctx.wants_output(o)) ctx.set_tensor(o, ctx.input(3).dtype, sample);
    return;
  }
  Dim channels = channels_of(x);
  for (int i = 1; i < 5; ++i) channels = require_vector(ctx, i, channels, {0, 1}, "BatchNormalization's channels");
  if (x.has_rank() && x.rank() >= 2) {
    Shape out = *x.shape;
    out[1] = channels;
    ctx.set_tensor(0, x.dtype, std::move(out));
  }
  for (int o = 1; o < ctx.num_outputs(); ++o)
    if (ctx.wants_output(o)) ctx.set_tensor(o, ctx.input(3).dtype, Shape{channels});
}

void instance_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (x.has_rank() && x.rank() < 2)
    return ctx.invalid("InstanceNormalization needs (N, C, …), not rank " + std::to_string(x.rank()));
  Dim channels = channels_of(x);
  for (int i : {1, 2}) channels = require_vector(ctx, i, channels, {0, 1}, "InstanceNormalization's channels");
}

void group_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (x.has_rank() && x.rank() < 2)
    return ctx.invalid("GroupNormalization needs (N, C, …), not rank " + std::to_string(x.rank()));
  int64_t groups = ctx.attr_int("num_groups", 0);
  if (groups < 1) return ctx.invalid("num_groups is missing or not positive");
  Dim channels = channels_of(x);
  ctx.require_divisible(channels, groups, "GroupNormalization's channels by num_groups", {0, 1});
  // Scale and bias are one a group in opset 18, one a channel since.
  Dim each = ctx.opset() < 21 ? Dim(groups) : channels;
  for (int i : {1, 2}) require_vector(ctx, i, each, {}, "GroupNormalization's scale and bias");
}

// Mean and inverse deviation: the input's shape with 1 for each axis from `axis` on.
void layer_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  DataType stash = data_type_from_attr(ctx.attr_int("stash_type", 1));
  std::optional<Shape> statistics;
  if (x.has_rank() && x.rank() > 0) {
    auto axis = normalize_axis(ctx, ctx.attr_int("axis", -1), x.rank());
    if (axis) {
      statistics = *x.shape;
      for (int k = *axis; k < x.rank(); ++k) (*statistics)[k] = 1;
      for (int i : {1, 2}) require_broadcasts_to(ctx, i, *x.shape, "scale and bias of a normalization");
    }
  }
  for (int o : {1, 2})
    if (ctx.wants_output(o)) ctx.set_tensor(o, stash, statistics);
}

void rms_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() == 0) return;
  if (normalize_axis(ctx, ctx.attr_int("axis", -1), x.rank()))
    require_broadcasts_to(ctx, 1, *x.shape, "scale of a normalization");
}

void lp_norm_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.input(0).has_rank()) normalize_axis(ctx, ctx.attr_int("axis", -1), ctx.input(0).rank());
}

void mean_variance_rule(Context& ctx) {
  keep_shape(ctx);
  if (!ctx.input(0).has_rank()) return;
  if (auto axes = ctx.attr_ints("axes")) normalize_axes(ctx, *axes, ctx.input(0).rank());
}

// The mask has the data's type before opset 10, bool since.
void dropout_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, ctx.opset() < 10 ? ctx.input(0).dtype : DataType::kBool);
}

}  // namespace

void add_normalization_ops(Registry& r) {
  const auto add_op = r.group("", OpClass::kOther);
  add_op("BatchNormalization", batch_norm_rule);
  add_op("InstanceNormalization", instance_norm_rule);
  add_op("GroupNormalization", group_norm_rule);
  add_op("LayerNormalization", layer_norm_rule);
  add_op("RMSNormalization", rms_norm_rule);
  add_op("LpNormalization", lp_norm_rule);
  add_op("MeanVarianceNormalization", mean_variance_rule);
  add_op("LRN", keep_shape);
  r.add({"", "Dropout", dropout_rule, OpClass::kOther, false});
}

}  // namespace thaw::ops
