// Normalizations keep their input's shape; what varies is the shape of scale, bias and statistics.
#include "thaw/ops/onnx/normalization.h"

#include <algorithm>
#include <string>

#include "thaw/ops/onnx/reduction.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
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

// Channels of (N, C, …); a single axis is a batch of one channel.
Dim channels_of(const Fact& x) {
  if (!x.has_rank()) return {};
  return x.rank() >= 2 ? x.dim(1) : Dim(1);
}

// spatial = 0 (before opset 9) has statistics for every feature: the shape of one sample.
bool has_feature_statistics(const NodeView& view) { return view.opset() < 9 && view.attr_int("spatial", 1) == 0; }

void batch_norm_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (has_feature_statistics(ctx)) {
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
// The type of the result where data and scale may differ in theirs: the scale's.
DataType type_of_scaled(Context& ctx) {
  const DataType scale = ctx.input(1).dtype;
  return scale == DataType::kUndefined ? ctx.input(0).dtype : scale;
}

// Below opset 17 it is ONNX Runtime's own operator.
void layer_norm_rule(Context& ctx) {
  constexpr int64_t kOfOnnx = 17;
  shape_of_input(ctx, 0, 0, ctx.opset() < kOfOnnx ? type_of_scaled(ctx) : ctx.input(0).dtype);
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
  shape_of_input(ctx, 0, 0, type_of_scaled(ctx));
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() == 0) return;
  if (normalize_axis(ctx, ctx.attr_int("axis", -1), x.rank()))
    require_broadcasts_to(ctx, 1, *x.shape, "scale of a normalization");
}

void lp_norm_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.input(0).has_rank()) normalize_axis(ctx, ctx.attr_int("axis", -1), ctx.input(0).rank());
}

std::optional<AxesMap> lp_norm_axes(NodeView& view) { return axes_mixing(view, view.attr_int("axis", -1), false); }

void mean_variance_rule(Context& ctx) {
  keep_shape(ctx);
  if (!ctx.input(0).has_rank()) return;
  normalize_axes(ctx, ctx.attr_ints("axes").value_or(std::vector<int64_t>{0, 2, 3}), ctx.input(0).rank());
}

// The mask has the data's type before opset 10, bool since.
// A ratio from 0 up to 1, looked at in training alone.
void needs_of_dropout(Context& ctx) {
  if (!ctx.has_input(1) || !ctx.has_input(2) || ctx.number(2) == 0.0) return;
  const auto ratio = ctx.number(1);
  if (!ratio || !(*ratio >= 0 && *ratio < 1)) ctx.leave_open("a Dropout's ratio", 1);
}

void dropout_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, ctx.opset() < 10 ? ctx.input(0).dtype : DataType::kBool);
}

// In training mode, as before opset 14 by returning statistics, it normalizes by the mean and variance of its data.
bool trains(const ir::Node& node) {
  const ir::Value* mean = node.output(1);
  return node.attribute_int("training_mode", 0) != 0 || (mean && mean->is_used());
}

std::optional<AxesMap> batch_norm_axes(NodeView& view) {
  if (has_feature_statistics(view)) return match_axes("n c..., c..., c..., c..., c... -> n c...", view);
  if (trains(view.node())) return match_axes("n~ c x~..., c, c, c, c -> n~ c x~..., c, c", view);
  return match_axes("n c x..., c, c, c, c -> n c x... | n -> n", view);
}

// By default all but the channels of images.
std::vector<int64_t> mean_variance_list(const NodeView& view) {
  auto given = view.attr_ints("axes");
  return given && !given->empty() ? std::move(*given) : std::vector<int64_t>{0, 2, 3};
}

std::optional<AxesMap> mean_variance_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const auto axes = mean_variance_list(view);
  return AxesMap::in_place(rank, [&](int k) {
    return std::ranges::any_of(axes, [&](int64_t axis) { return BatchContext::positive(axis, rank) == k; });
  });
}

// Mean and variance of one sample, over all its axes but the second.
void normalize_in_training(BatchContext& n) {
  const int rank = n.rank(0);
  if (n.opset() < 14 || rank < 2) BatchContext::refuse("it is in training mode, as before opset 14");
  const DataType type = n.input(0).dtype;
  std::vector<int64_t> axes{1}, spatial{1};  // [batch, n, c, …]: what is reduced; what a list of channels lacks
  for (int64_t axis = 3; axis <= rank; ++axis) axes.push_back(axis), spatial.push_back(axis);
  const auto channels = [&](int i) { return n.unsqueeze(n.leading(i), spatial); };
  ir::Value* x = n.leading(0);
  ir::Value* mean = n.reduce("ReduceMean", x, axes, true);
  ir::Value* centred = n.sub(x, mean);
  ir::Value* variance = n.reduce("ReduceMean", n.mul(centred, centred), axes, true);
  ir::Value* epsilon = n.scalar(n.attr_float("epsilon", 1e-5F), type);
  ir::Value* deviation = n.emit("Sqrt", {n.add(variance, epsilon)});
  ir::Value* y = n.mul(n.div(centred, deviation), channels(1));
  n.become(0, n.add(y, channels(2)), Form::kLeading);
  const double kept = n.attr_float("momentum", 0.9F);
  const auto running = [&](int i, ir::Value* now) {
    const DataType running_type = n.input(i).dtype;
    ir::Value* before = n.mul(n.leading(i), n.scalar(kept, running_type));
    ir::Value* added = n.mul(n.squeeze(now, spatial), n.scalar(1 - kept, type));
    n.become(i - 2, n.add(before, running_type == type ? added : n.cast(added, running_type)), Form::kLeading);
  };
  if (n.wants_output(1)) running(3, mean);
  if (n.wants_output(2)) running(4, variance);
}

void batch_batch_norm(BatchContext& n) {
  if (trains(n.node())) return normalize_in_training(n);
  batch_by_axes(n);
}

void batch_mean_variance(BatchContext& n) { batch_reduce_over(n, mean_variance_list(n)); }

void batch_dropout(BatchContext& n) {
  bool may_train = n.original(2) != nullptr;
  if (const auto mode = n.constant_ints(2)) may_train = mode->empty() || mode->front() != 0;
  if (may_train) BatchContext::refuse("it may be in training mode, in which it draws random numbers");
  if (n.is_batched(0)) n.keep_on(n.form_of(0));
}

void newer_batch_norm(AdapterContext& n) {
  if (n.crosses(9) && n.attr_int("spatial", 1) == 0) throw NoEqual{"its statistics are not of channels"};
  n.changing().remove_attribute("spatial");
  if (n.crosses(14) && n.num_outputs() > 1) throw NoEqual{"it trains"};
}

void newer_group_norm(AdapterContext& n) {
  if (n.crosses(21)) throw NoEqual{"its scale is of groups, not of channels"};
}

void newer_dropout(AdapterContext& n) {
  if (n.crosses(12) && n.wants_output(1)) throw NoEqual{"its mask has another type"};
}

void older_rms_norm(AdapterContext& n) {
  const Fact& x = n.input(0);
  if (!x.has_rank() || !ir::is_floating(x.dtype)) throw NoEqual{"its operand's rank or type is not known"};
  std::vector<int64_t> axes;
  for (int64_t axis = BatchContext::positive(n.attr_int("axis", -1), x.rank()); axis < x.rank(); ++axis)
    axes.push_back(axis);
  ir::Value* normed =
      rms_norm_as_arithmetic(n.at(), n.changing().input(0), x.dtype, axes, n.attr_float("epsilon", 1e-5F),
                             static_cast<DataType>(n.attr_int("stash_type", 1)));
  n.become(0, n.at().mul(normed, n.changing().input(1)));
}

// From opset 21 on, scale and bias are of channels.
void older_group_norm(AdapterContext& n) {
  if (!n.crosses(21)) return;
  const Emit& at = n.at();
  const Fact& x = n.input(0);
  const int64_t groups = n.attr_int("num_groups", 0);
  if (x.rank() < 3 || groups <= 0 || x.dtype != DataType::kFloat)
    throw NoEqual{"its operand's rank or type is not known"};
  const auto each = [&](float number) {
    return at.floats({groups}, std::vector<float>(static_cast<size_t>(groups), number));
  };
  ir::Value* data = n.changing().input(0);
  ir::Value* normed = at.emit("InstanceNormalization", {at.reshape(data, at.list({0, groups, -1})), each(1), each(0)},
                              {{"epsilon", static_cast<float>(n.attr_float("epsilon", 1e-5F))}});
  std::vector<int64_t> inner;
  for (int64_t axis = 1; axis + 1 < x.rank(); ++axis) inner.push_back(axis);
  ir::Value* scaled = at.mul(at.reshape(normed, at.shape(data)), at.unsqueeze(n.changing().input(1), inner));
  n.become(0, at.add(scaled, at.unsqueeze(n.changing().input(2), inner)));
}

}  // namespace

// Zhang and Sennrich, "Root Mean Square Layer Normalization".
ir::Value* rms_norm_as_arithmetic(const Emit& at, ir::Value* x, DataType type, const std::vector<int64_t>& axes,
                                  double epsilon, DataType precision) {
  ir::Value* wide = type == precision ? x : at.cast(x, precision);
  ir::Value* mean = at.reduce("ReduceMean", at.mul(wide, wide), axes, true);
  ir::Value* root = at.emit("Sqrt", {at.add(mean, at.scalar(epsilon, precision))});
  ir::Value* normed = at.div(wide, root);
  return type == precision ? normed : at.cast(normed, type);
}

std::optional<AxesMap> axes_mixing(NodeView& view, int64_t axis, bool to_the_end, Combine combine) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const int64_t first = BatchContext::positive(axis, rank);
  return AxesMap::in_place(rank, [&](int k) { return to_the_end ? k >= first : k == first; }, combine);
}

std::optional<AxesMap> layer_norm_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const int64_t first = BatchContext::positive(view.attr_int("axis", -1), rank);
  AxesMap map;
  for (int k = 0; k < rank; ++k) {
    std::vector<OperandAxis> from{{0, k}}, to{{0, k}};
    for (int i = 1; i < view.num_inputs(); ++i) {
      const int at = k - rank + view.input(i).rank();
      if (view.input(i).has_rank() && at >= 0) from.push_back({i, at});
    }
    if (k >= first) {
      map.mix(std::move(from), std::move(to));
      continue;
    }
    for (int o = 1; o < view.num_outputs(); ++o)
      if (view.wants_output(o)) to.push_back({o, k});
    map.keep(std::move(from), std::move(to));
  }
  return map;
}

void add_normalization_ops(Registry& r) {
  using enum Role;
  r.add({.name = "BatchNormalization",
         .shape = batch_norm_rule,
         .operands = {kData, kBias, kBias, kBias, kBias},
         .axes = axes_by(batch_norm_axes),
         .batch = batch_with(batch_batch_norm),
         .newer = newer_batch_norm,
         .magnitude = magnitude_of_norm});
  r.add({.name = "InstanceNormalization",
         .shape = instance_norm_rule,
         .operands = {kData, kBias, kBias},
         .axes = axes_by("n c x~..., c, c -> n c x~..."),
         .magnitude = magnitude_of_norm});
  // Scale and bias are one a channel, or one a group.
  r.add({.name = "GroupNormalization",
         .shape = group_norm_rule,
         .operands = {kData, kBias, kBias},
         .axes = axes_by("n c~ x~..., _, _ -> n c~ x~..."),
         .newer = newer_group_norm,
         .older = older_group_norm,
         .magnitude = magnitude_of_norm});
  r.add({.name = "LayerNormalization",
         .shape = layer_norm_rule,
         .operands = {kData, kBias, kBias},
         .attributes = {{"axis", kAxes, -1}},
         .axes = axes_by(layer_norm_axes),
         .batch = batch_with(batch_shifting_axes),
         .magnitude = magnitude_of_norm});
  r.add({.name = "RMSNormalization",
         .shape = rms_norm_rule,
         .operands = {kData, kBias},
         .attributes = {{"axis", kAxes, -1}},
         .axes = axes_by(layer_norm_axes),
         .batch = batch_with(batch_shifting_axes),
         .older = older_rms_norm,
         .magnitude = magnitude_of_norm});
  r.add({.name = "LpNormalization",
         .shape = lp_norm_rule,
         .attributes = {{"axis", kAxes, -1}},
         .axes = axes_by(lp_norm_axes),
         .batch = batch_with(batch_shifting_axes),
         .widens = true,
         .magnitude = magnitude_of_norm});
  r.add({.name = "MeanVarianceNormalization",
         .shape = mean_variance_rule,
         .attributes = {{"axes", kAxes}},
         .axes = axes_by(mean_variance_axes),
         .batch = batch_with(batch_mean_variance),
         .widens = true,
         .magnitude = magnitude_of_norm});
  r.add({.name = "LRN",
         .shape = keep_shape,
         .axes = axes_by("n c~ x... -> n c~ x..."),
         .widens = true,
         .magnitude = magnitude_passed});
  r.add({.name = "Dropout",
         .shape = dropout_rule,
         .needs = needs_of_dropout,
         .operands = {kData, kSetting, kSetting},
         .axes = axes_by("... -> ..., ..."),
         .batch = batch_with(batch_dropout),
         .newer = newer_dropout,
         .deterministic = false,
         .magnitude = magnitude_passed});
}

}  // namespace thaw::ops
