// Convolutions: Conv and its quantized forms, ConvTranspose, DeformConv.
#include "thaw/ops/onnx/conv.h"

#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/cost.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// The number of spatial axes: from the input, the weight, or the attributes; -1 when nothing tells.
int spatial_rank(Context& ctx, int x, int w) {
  if (ctx.input(x).has_rank()) return ctx.input(x).rank() - 2;
  if (ctx.input(w).has_rank()) return ctx.input(w).rank() - 2;
  return spatial_rank_of_attributes(ctx);
}

bool ranks_fit(Context& ctx, int x, int w, int spatial) {
  for (int i : {x, w}) {
    const Fact& fact = ctx.input(i);
    if (!fact.has_rank() || (fact.rank() == spatial + 2 && spatial >= 0)) continue;
    ctx.invalid("input " + std::to_string(i) + " of a convolution has rank " + std::to_string(fact.rank()) + ", not " +
                std::to_string(std::max(spatial, 0) + 2));
    return false;
  }
  return spatial >= 0;
}

// One value a feature map.
void require_bias(Context& ctx, int bias, Dim maps, At from) {
  const Fact& fact = ctx.input(bias);
  if (!fact.has_rank()) return;
  if (fact.rank() != 1) return ctx.invalid("a convolution's bias has rank 1, not " + std::to_string(fact.rank()));
  ctx.require_equal(maps, fact.dim(0), "a convolution's feature maps and its bias", from, {bias, 0});
}

int64_t group_of(Context& ctx) {
  int64_t group = ctx.attr_int("group", 1);
  if (group >= 1) return group;
  ctx.invalid("group is " + std::to_string(group) + ", not a positive number");
  return 1;
}

void conv_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, conv_shape(ctx, {.x = 0, .w = 1, .bias = 2})); }

void conv_integer_rule(Context& ctx) {
  ctx.set_tensor(0, DataType::kInt32, conv_shape(ctx, {.x = 0, .w = 1, .bias = -1}));
}

void qlinear_conv_rule(Context& ctx) {
  ctx.set_tensor(0, ctx.input(7).dtype, conv_shape(ctx, {.x = 0, .w = 3, .bias = 8}));
}

// Size of one axis of a transposed convolution.
Dim transposed_size(const Window& w, size_t k, Dim in, int64_t output_padding, std::optional<int64_t> asked) {
  if (asked) return *asked;
  Dim full = Dim(w.strides[k]) * (in - 1) + output_padding + w.extent(k);
  if (w.auto_pad == AutoPad::kNotSet) return full - w.pads_begin[k] - w.pads_end[k];
  if (w.auto_pad == AutoPad::kValid) return full;
  // SAME pads away what is over input * stride. ONNX Runtime adds nothing where the window is smaller than the stride.
  return Dim(w.strides[k]) * (in - 1) + dim::min(w.extent(k) + output_padding, w.strides[k]);
}

void conv_transpose_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &weight = ctx.input(1);
  ctx.set_tensor(0, x.dtype, std::nullopt);
  int spatial = spatial_rank(ctx, 0, 1);
  if (spatial < 0 || !ranks_fit(ctx, 0, 1, spatial)) return;
  auto window = read_window(ctx, spatial);
  if (!window) return;
  take_kernel(ctx, *window, 1, 2);
  auto asked = ctx.attr_ints("output_shape").value_or(std::vector<int64_t>());
  auto extra = ctx.attr_ints("output_padding").value_or(std::vector<int64_t>());
  size_t n = static_cast<size_t>(spatial);
  // Some exporters of old opsets give batch and channels too.
  if (asked.size() == n + 2) asked.erase(asked.begin(), asked.begin() + 2);
  if ((!asked.empty() && asked.size() != n) || (!extra.empty() && extra.size() != n))
    return ctx.invalid("output_shape and output_padding need one value for each of the " + std::to_string(n) +
                       " spatial axes");
  Shape out(n + 2);
  int64_t group = group_of(ctx);
  if (x.has_rank()) out[0] = x.dim(0);
  if (weight.has_rank()) {
    out[1] = weight.dim(1) * group;
    require_bias(ctx, 2, out[1], {1, 1});
    if (x.has_rank())
      ctx.require_equal(x.dim(1), weight.dim(0), "channels of ConvTranspose and its weight", {0, 1}, {1, 0});
    if (group != 1) ctx.require_divisible(weight.dim(0), group, "channels of ConvTranspose by group", {1, 0});
  }
  for (size_t k = 0; k < n; ++k) {
    Dim in = x.has_rank() ? x.dim(static_cast<int>(k) + 2) : Dim();
    if (!asked.empty()) {
      const Dim full = Dim(window->strides[k]) * (in - 1) + (extra.empty() ? 0 : extra[k]) + window->extent(k);
      ctx.require_at_most(asked[k], full + (window->strides[k] - 1), "an output_shape that ConvTranspose reaches");
    }
    out[k + 2] = transposed_size(*window, k, in, extra.empty() ? 0 : extra[k],
                                 asked.empty() ? std::nullopt : std::optional(asked[k]));
    ctx.require_at_most(1, out[k + 2], "a size that ConvTranspose makes");
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// The offsets have two (as many as there are spatial axes) for each position of the window and offset_group, the mask one.
void require_deform_channels(Context& ctx, const std::optional<Shape>& out) {
  const Fact& weight = ctx.input(1);
  if (!out || weight.rank() != static_cast<int>(out->size())) return;
  const int rank = weight.rank();
  Dim positions = ctx.attr_int("offset_group", 1);
  for (int k = 2; k < rank; ++k) positions = positions * weight.dim(k);
  require_axis(ctx, 2, rank, 1, positions * (rank - 2), "DeformConv's offsets of a window");
  require_axis(ctx, 4, rank, 1, positions, "DeformConv's mask of a window");
  for (int k = 0; k < rank; ++k)
    if (k != 1) require_axis(ctx, 4, rank, k, (*out)[static_cast<size_t>(k)], "DeformConv's output and its mask");
}

void deform_conv_rule(Context& ctx) {
  auto shape = conv_shape(ctx, {.x = 0, .w = 1, .bias = 3});
  const Fact& offset = ctx.input(2);
  if (shape && offset.rank() == static_cast<int>(shape->size())) {
    for (int k = 0; k < offset.rank(); ++k) {
      if (k == 1) continue;  // offset_group * kernel * axes
      (*shape)[k] = ctx.require_equal((*shape)[k], offset.dim(k), "DeformConv's output and its offsets", {}, {2, k});
    }
  }
  require_deform_channels(ctx, shape);
  ctx.set_tensor(0, ctx.input(0).dtype, std::move(shape));
}

// In groups, the weight's second axis is a part of the feature maps.
std::optional<AxesMap> conv_transpose_axes(NodeView& view) {
  const bool whole = view.attr_int("group", 1) == 1;
  return match_axes(whole ? "n c x~..., c m _..., m -> n m x~..." : "n c x~..., c _ _..., m -> n m x~...", view);
}

// A zero point of a sample's own: the convolution without it, less the zero point times the same convolution of ones,
// which minds the padding.
void batch_conv_integer(BatchContext& n) {
  if (!n.is_batched(2)) return batch_by_axes(n);
  if (n.is_batched(1) || n.is_batched(3)) BatchContext::refuse("its weights differ from sample to sample");
  if (n.rank(2) != 0) BatchContext::refuse("its zero point is not one number");
  ir::Value* x = n.leading(0);
  ir::Value* both = n.slice(n.shape(x), 0, 2);
  const auto given = n.node().attributes();
  const auto convolve = [&](ir::Value* data) {
    return n.emit("ConvInteger", {data, n.original(1), nullptr, n.original(3)}, Attributes(given.begin(), given.end()));
  };
  ir::Value* one_image = n.concat({n.list({1}), n.slice(n.shape(x), 2)}, 0);
  ir::Value* ones = n.emit("Expand", {n.cast(n.integer(1), n.input(0).dtype), one_image});
  ir::Value* y = n.unflattened(convolve(n.flattened(x)), both);
  ir::Value* point = n.unsqueeze(n.cast(n.leading(2), DataType::kInt32), BatchContext::axes_of_sample(n.rank(0)));
  n.become(0, n.sub(y, n.mul(point, convolve(ones))), Form::kLeading);
}

}  // namespace

std::optional<Shape> conv_shape(Context& ctx, const ConvInputs& in) {
  const Fact &x = ctx.input(in.x), &weight = ctx.input(in.w);
  int spatial = spatial_rank(ctx, in.x, in.w);
  if (spatial < 0 || !ranks_fit(ctx, in.x, in.w, spatial)) return std::nullopt;
  auto window = read_window(ctx, spatial);
  if (!window) return std::nullopt;
  int first = in.channels_last ? 1 : 2, channels = in.channels_last ? spatial + 1 : 1;
  take_kernel(ctx, *window, in.w, 2);
  Shape out(static_cast<size_t>(spatial) + 2);
  int64_t group = group_of(ctx);
  if (x.has_rank()) out[0] = x.dim(0);
  if (weight.has_rank()) {
    out[channels] = weight.dim(0);
    if (in.bias >= 0) require_bias(ctx, in.bias, weight.dim(0), {in.w, 0});
    if (x.has_rank())
      ctx.require_equal(x.dim(channels), weight.dim(1) * group, "channels of a convolution and its weight",
                        {in.x, channels}, {in.w, 1});
    if (group != 1) ctx.require_divisible(weight.dim(0), group, "a convolution's feature maps by group", {in.w, 0});
  }
  for (int k = 0; k < spatial && x.has_rank(); ++k)
    out[first + k] = window_output(ctx, *window, k, x.dim(first + k), {in.x, first + k});
  return out;
}

void add_conv_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Conv",
         .shape = conv_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias},
         .axes = axes_by("n c x~..., m _ _..., m -> n m x~..."),
         .flops = flops_of_filters,
         .magnitude = magnitude_of_layer});
  r.add({.name = "ConvInteger",
         .shape = conv_integer_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kZeroPoint, kZeroPoint},
         .axes = axes_by("n c x~..., m _ _..., , m -> n m x~..."),
         .batch = batch_with(batch_conv_integer),
         .flops = flops_of_filters});
  r.add({.name = "QLinearConv",
         .shape = qlinear_conv_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kQuantScale, kZeroPoint, kWeight, kQuantScale, kZeroPoint, kQuantScale, kZeroPoint, kBias},
         .axes = kQLinearConvAxes,
         .flops = flops_of_quantized_filters});
  r.add({.name = "ConvTranspose",
         .shape = conv_transpose_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias},
         .attributes = {{"output_shape", kShape}},
         .axes = axes_by(conv_transpose_axes),
         .flops = flops_of_spread_filters,
         .magnitude = magnitude_of_layer});
  // The offsets and the mask have numbers of their own for each position of the output.
  r.add({.name = "DeformConv",
         .shape = deform_conv_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kData, kBias, kData},
         .axes = axes_by("n c x~..., m _ _..., n _ x~..., m, n _ x~... -> n m x~..."),
         .flops = flops_of_filters});
}

}  // namespace thaw::ops
