// Linear attention of com.microsoft and what feeds it: LinearAttention, CausalConvWithState, LinearAttentionGate.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

// Query (B, T, Hq * dk), key (B, T, Hkv * dk), value (B, T, Hkv * dv).
void linear_attention_rule(Context& ctx) {
  const Fact &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2), &past = ctx.input(3);
  int64_t hq = ctx.attr_int("q_num_heads", 0), hkv = ctx.attr_int("kv_num_heads", 0);
  ctx.set_tensor(0, q.dtype, unknown_shape(3));
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 3, past.dtype);
  if (hq < 1 || hkv < 1) return ctx.invalid("q_num_heads and kv_num_heads must be positive");
  for (int i : {1, 2}) {
    if (q.rank() != 3) continue;
    require_axis(ctx, i, 3, 0, q.dim(0), "batch of a LinearAttention");
    require_axis(ctx, i, 3, 1, q.dim(1), "length of a LinearAttention");
  }
  Dim dv = v.rank() == 3 ? divide_evenly(ctx, v.dim(2), hkv, "values of a LinearAttention and its heads", {2, 2})
                         : Dim(),
      dk = k.rank() == 3 ? dim::floor_div(k.dim(2), hkv) : Dim();
  if (q.rank() == 3 && k.rank() == 3) {
    // A query's head is as wide as a key's, of which there may be fewer than of values.
    const Dim width = divide_evenly(ctx, q.dim(2), hq, "queries of a LinearAttention and its heads", {0, 2});
    ctx.require_divisible(k.dim(2), width, "keys of a LinearAttention and the size of a head", {1, 2});
    ctx.require_divisible(width * hkv, k.dim(2), "heads of a LinearAttention's keys", {}, {1, 2});
  }
  if (q.rank() == 3) ctx.set_tensor(0, q.dtype, Shape{q.dim(0), q.dim(1), dv * std::max(hq, hkv)});
  if (ctx.wants_output(1) && !past.has_rank() && ctx.attr_int("state_window", 0) == 0)
    ctx.set_tensor(1, past.dtype, Shape{q.rank() == 3 ? q.dim(0) : Dim(), hkv, dk, dv});
}

void causal_conv_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &w = ctx.input(1), &past = ctx.input(3);
  keep_shape(ctx);
  const int channels = ctx.attr_int("channels_last", 0) != 0 ? x.rank() - 1 : 1;
  if (channels >= 0 && x.rank() > channels && w.rank() >= 1)
    ctx.require_equal(x.dim(channels), w.dim(0), "channels of a convolution and its weight", {0, channels}, {1, 0});
  if (ctx.attr_int("ndim", 1) == 1) require_axis(ctx, 1, 3, 1, 1, "the channels that each of a depthwise weight sees");
  if (!ctx.wants_output(1)) return;
  if (past.has_rank()) return shape_of_input(ctx, 1, 3, past.dtype);
  bool plain =
      ctx.attr_int("ndim", 1) == 1 && ctx.attr_int("state_window", 0) == 0 && ctx.attr_int("channels_last", 0) == 0;
  if (!plain || x.rank() != 3 || w.rank() != 3) return ctx.set_tensor(1, x.dtype, std::nullopt);
  ctx.set_tensor(1, x.dtype, Shape{x.dim(0), x.dim(1), (w.dim(2) - 1) * ctx.attr_int("dilation", 1)});
}

void decay_gate_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 3, ctx.input(3).dtype);
}

// A window of states, one for each of the last positions, stands in an axis before the batch.
std::string state_axes(NodeView& view, std::string_view of_one) {
  return fmt::format("{}{}", view.attr_int("state_window", 0) > 0 ? "_ " : "", of_one);
}

std::optional<AxesMap> linear_attention_axes(NodeView& view) {
  const std::string state = state_axes(view, "b m~ m~ m~");
  return match_axes(fmt::format("b s~ m~, b s~ m~, b s~ m~, {0}, b s~ m~, b s~ m~ -> b s~ m~, {0}", state), view);
}

// Each channel is seen apart. Channels that come last may be spread over several axes, which weights are not.
std::optional<AxesMap> causal_conv_axes(NodeView& view) {
  const bool is_last = view.attr_int("channels_last", 0) != 0, is_spread = is_last && view.input(0).rank() != 3;
  const std::string_view data = is_spread ? "b s~ d~..." : is_last ? "b s~ c" : "b c s~...";
  const std::string state = state_axes(view, data);
  return match_axes(fmt::format("{0}, {1} _ _..., {1}, {2} -> {0}, {2}", data, is_spread ? "_" : "c", state), view);
}

}  // namespace

// s: positions; m: heads and what is in them.
void add_microsoft_linear_attention_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "LinearAttention",
         .shape = linear_attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kState, kData, kData},
         .axes = axes_by(linear_attention_axes)});
  r.add({.domain = kMicrosoft,
         .name = "CausalConvWithState",
         .shape = causal_conv_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kState},
         .axes = axes_by(causal_conv_axes)});
  r.add({.domain = kMicrosoft,
         .name = "LinearAttentionGate",
         .shape = decay_gate_rule,
         .operands = {kData, kBias, kBias, kData},
         .axes = axes_by("b s h, h, h, b s h -> b s h, b s h")});
}

}  // namespace thaw::ops
