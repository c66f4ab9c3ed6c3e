// Attention of com.microsoft: Attention and its quantized and masked forms, MultiHeadAttention, LongformerAttention,
// DecoderAttention.
#include "thaw/ops/microsoft/attention.h"

#include <string>

#include <fmt/format.h>

#include "thaw/ops/microsoft/attention_operands.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void attention_rule(Context& ctx) {
  projected_attention(ctx, {.past = 4, .mask = 3, .score_bias = 5}, ctx.input(0).dtype);
}
void quantized_attention_rule(Context& ctx) { projected_attention(ctx, {.past = 8, .mask = 5}, ctx.input(3).dtype); }

// Where MultiHeadAttention and its masked form have their inputs.
struct Separate {
  int past_key = 6, past_value = 7;
  int bias = 3, mask = 4, score_bias = 5, past_length = 8;
  bool shares_buffer = false;
};

void separate_attention(Context& ctx, const Separate& at) {
  const Fact &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2);
  if (q.has_rank() && q.rank() != 3 && q.rank() != 5)
    return ctx.invalid("the query has rank " + std::to_string(q.rank()) + ", not 3 or 5");
  Dim n = heads(ctx), batch, sequence, keys, head, v_head;
  if (q.has_rank()) {
    batch = q.dim(0);
    sequence = q.dim(1);
  }
  bool cross = false;
  if (q.rank() == 5) {  // Q, K and V packed: (batch, sequence, heads, 3, head)
    keys = sequence;
    head = v_head = q.dim(4);
    ctx.require_equal(n, q.dim(2), "heads of a packed query", {}, {0, 2});
    ctx.require_equal(3, q.dim(3), "a packed query in Q, K and V", {}, {0, 3});
  } else if (ctx.has_input(2)) {
    cross = v.rank() == 4;  // (batch, heads, keys, head): a cache that is read, not extended
    head = q.rank() == 3 ? share(ctx, q.dim(2), n, "the query's hidden size by num_heads") : Dim();
    if (v.rank() == 3) {
      keys = v.dim(1);
      v_head = share(ctx, v.dim(2), n, "the value's hidden size by num_heads");
    } else if (cross) {
      keys = v.dim(2);
      v_head = v.dim(3);
      for (int i : {1, 2}) {
        const Fact& cache = ctx.input(i);
        if (cache.rank() != 4) continue;
        ctx.require_equal(n, cache.dim(1), "heads of a cache", {}, {i, 1});
        keys = ctx.require_equal(keys, cache.dim(2), "length of keys and values", {2, 2}, {i, 2});
        head = ctx.require_equal(head, cache.dim(3), "head size of a cache", {}, {i, 3});
      }
    }
    if (k.rank() == 3) {
      keys = ctx.require_equal(keys, k.dim(1), "length of keys and values", {2, 1}, {1, 1});
      if (q.rank() == 3) ctx.require_equal(q.dim(2), k.dim(2), "hidden size of query and key", {0, 2}, {1, 2});
    }
    for (int i : {1, 2})
      if (ctx.input(i).rank() > 0)
        batch = ctx.require_equal(batch, ctx.input(i).dim(0), "batch of query, key and value", {0, 0}, {i, 0});
  } else if (k.rank() == 5) {  // K and V packed: (batch, keys, heads, 2, head)
    keys = k.dim(1);
    head = v_head = k.dim(4);
    batch = ctx.require_equal(batch, k.dim(0), "batch of query and key", {0, 0}, {1, 0});
    ctx.require_equal(n, k.dim(2), "heads of a packed key", {}, {1, 2});
    ctx.require_equal(2, k.dim(3), "a packed key in K and V", {}, {1, 3});
  } else if (!ctx.has_input(1) && q.rank() == 3) {  // Q, K and V packed in the hidden axis (masked form)
    keys = sequence;
    head = v_head =
        share(ctx, share(ctx, q.dim(2), 3, "a packed query in Q, K and V"), n, "a packed query by num_heads");
  }
  Dim hidden = v.rank() == 3 && ctx.has_input(2) ? v.dim(2) : v_head * n;
  ctx.set_tensor(0, q.dtype, Shape{batch, sequence, hidden});
  const Fact &past_key = ctx.input(at.past_key), &past_value = ctx.input(at.past_value);
  Dim total = keys;
  Shape present_key = {batch, n, keys, head}, present_value = {batch, n, keys, v_head};
  if (ctx.has_input(at.past_key)) {
    if (at.shares_buffer) {
      total = dim_of(past_key, 4, 2);
    } else {
      total = cross ? Dim() : keys + dim_of(past_key, 4, 2);
    }
    present_key[2] = present_value[2] = total;
    require_past(ctx, at.past_key, at.past_value, batch, n, head);
    if (head.is_unknown()) present_key[3] = dim_of(past_key, 4, 3);
    // Keys and values are of one size then.
    present_value[3] =
        ctx.require_equal(v_head, dim_of(past_value, 4, 3), "head size of the past value", {}, {at.past_value, 3});
  }
  if (ctx.has_input(at.bias)) {
    const Fact& bias = ctx.input(at.bias);
    if (bias.rank() == 1)
      ctx.require_equal(head * n * 2 + hidden, bias.dim(0), "a bias of query, key and value", {}, {at.bias, 0});
  }
  // How much of a shared buffer counts is fed.
  if (at.shares_buffer) {
    const auto past = ctx.dims_from(at.past_length);
    total = past && past->size() == 1 ? past->front() + keys : Dim();
  }
  const Scores scores{batch, n, sequence, total};
  if (ctx.has_input(at.mask)) require_mask(ctx, at.mask, scores, false);
  if (ctx.has_input(at.score_bias)) require_score_bias(ctx, at.score_bias, scores);
  set_if_wanted(ctx, 1, q.dtype, present_key);
  set_if_wanted(ctx, 2, q.dtype, present_value);
  set_if_wanted(ctx, 3, q.dtype, Shape{batch, n, sequence, at.shares_buffer ? Dim() : total});
}

void multi_head_rule(Context& ctx) {
  separate_attention(ctx, {.past_key = 6, .past_value = 7, .shares_buffer = ctx.has_input(8)});
}

void masked_multi_head_rule(Context& ctx) {
  for (int i : {0, 1, 2}) require_axis(ctx, i, 3, 1, 1, "the one position that is decoded");
  separate_attention(ctx, {.past_key = 5,
                           .past_value = 6,
                           .bias = 10,
                           .mask = 3,
                           .score_bias = 4,
                           .past_length = 7,
                           .shares_buffer = ctx.attr_int("past_present_share_buffer", 0) != 0});
}

// What is new in the caches depends on flags that are fed.
void decoder_attention_rule(Context& ctx) {
  const Fact& q = ctx.input(0);
  shape_of_input(ctx, 0, 0, q.dtype);
  Dim n = heads(ctx), batch = dim_of(q, 3, 1),
      head = share(ctx, dim_of(q, 3, 2), n, "the query's hidden size by num_heads");
  for (int o : {1, 2}) set_if_wanted(ctx, o, q.dtype, Shape{batch, n, Dim(), head});
}

void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

// The axes of attention whose query, key and value are operands of their own; `others` are its operands after these,
// with {0} for a mask of keys, {1} for a bias of the scores and {2} for a past.
std::optional<AxesMap> separate_axes(NodeView& view, std::string_view others) {
  // A query that holds keys as well, and one that sees only the keys up to its own position, has positions that meet.
  const bool is_packed = !view.has_input(1), meets = is_packed || view.attr_int("unidirectional", 0) != 0;
  const std::string_view letter = is_packed ? "t" : "q", mixed = meets ? "~" : "", past = "b m~ t~ m~";
  const std::string query = fmt::format("{}{}", letter, mixed), scores = fmt::format("[{}]{} [t]~", letter, mixed);
  const std::string rest = fmt::format(fmt::runtime(others), "b " + scores, "[_] [m]~ " + scores, past) +
                           fmt::format(" -> b {0} m~, {1}, {1}, b m~ {0} t~", query, past);
  // Key and value are a cache, [batch, heads, keys, head], or what is new, where [batch, keys, heads, 2, head] is both.
  return match_axes(fmt::format("b {0} [m]~ [_] m~, {1}, {1}, {2} | b {0} [m]~ [_] m~, b t~ [m]~ [_] m~, b t~ m~, {2}",
                                query, past, rest),
                    view);
}

std::optional<AxesMap> multi_head_axes(NodeView& view) {
  return separate_axes(view, "m~, {0}, {1}, {2}, {2}, , b _ _");
}
std::optional<AxesMap> masked_multi_head_axes(NodeView& view) {
  return separate_axes(view, "{0}, {1}, {2}, {2}, , , b _ _, m~");
}

// The projections, and as many products for each number of the output, twice, as there are keys.
Dim projected_attention_flops(NodeView& view) {
  const Fact &x = view.input(0), &past = view.input(view.node().op_type() == "QAttention" ? 8 : 4);
  if (x.rank() != 3) return {};
  const Dim keys = x.dim(1) + (past.rank() == 5 ? past.dim(3) : Dim(int64_t{0}));
  return x.dim(0) * x.dim(1) * view.input(1).num_elements() * 2 + view.output(0).num_elements() * keys * 4;
}

Dim multi_head_flops(NodeView& view) {
  const Fact& key = view.has_input(1) ? view.input(1) : view.input(0);
  const Fact& past = view.input(6);
  if (key.rank() < 3) return {};
  Dim keys = key.dim(key.rank() == 4 ? 2 : 1);
  if (view.has_input(6)) keys = keys + (past.rank() == 4 ? past.dim(2) : Dim());
  return view.output(0).num_elements() * keys * 4;
}

}  // namespace

Dim dim_of(const Fact& fact, int rank, int axis) { return fact.rank() == rank ? fact.dim(axis) : Dim(); }

Dim heads(Context& ctx, std::string_view name) {
  int64_t n = ctx.attr_int(name, 0);
  if (n >= 1) return n;
  ctx.invalid(std::string(name) + " is missing or not positive");
  return {};
}

Dim share(Context& ctx, Dim size, Dim parts, std::string_view what) {
  if (size.is_unknown() || parts.is_unknown()) return {};
  ctx.require_divisible(size, parts, what);
  return dim::floor_div(size, parts);
}

void set_if_wanted(Context& ctx, int o, DataType dtype, std::optional<Shape> shape) {
  if (ctx.wants_output(o)) ctx.set_tensor(o, dtype, std::move(shape));
}

void projected_attention(Context& ctx, const Projected& at, DataType dtype) {
  const Fact &x = ctx.input(0), &w = ctx.input(at.weights), &bias = ctx.input(at.bias);
  int rank = at.packed ? 2 : 3;
  if (x.has_rank() && x.rank() != rank)
    return ctx.invalid("attention's input has rank " + std::to_string(x.rank()) + ", not " + std::to_string(rank));
  if (x.has_rank() && w.rank() == 2)
    ctx.require_equal(x.dim(rank - 1), w.dim(0), "attention's input and its weights", {0, rank - 1}, {at.weights, 0});
  Dim all = ctx.require_equal(dim_of(w, 2, 1), dim_of(bias, 1, 0), "attention's weights and bias", {at.weights, 1},
                              {at.bias, 0});
  Dim qk_hidden, v_hidden;
  auto sizes = ctx.attr_ints("qkv_hidden_sizes").value_or(std::vector<int64_t>());
  if (sizes.size() == 3) {
    qk_hidden = sizes[0];
    v_hidden = sizes[2];
    ctx.require_equal(Dim(sizes[0]) + Dim(sizes[1]) + Dim(sizes[2]), all, "attention's qkv_hidden_sizes and weights",
                      {}, {at.weights, 1});
  } else {
    qk_hidden = v_hidden = share(ctx, all, 3, "attention's weights in Q, K and V");
  }
  Shape out = x.has_rank() ? *x.shape : unknown_shape(rank);
  out[rank - 1] = v_hidden;
  ctx.set_tensor(0, dtype, out);
  if (at.packed) return;
  const Fact& past = ctx.input(at.past);
  const bool has_past = ctx.has_input(at.past);
  const bool shares_buffer = has_past && ctx.attr_int("past_present_share_buffer", 0) != 0;
  Dim n = heads(ctx);
  Shape present = {2, out[0], n, out[1], share(ctx, qk_hidden, n, "attention's hidden size by num_heads")};
  if (has_past) {
    ctx.require_equal(2, dim_of(past, 5, 0), "keys and values of attention's past", {}, {at.past, 0});
    present[1] = ctx.require_equal(present[1], dim_of(past, 5, 1), "batch of attention's past", {0, 0}, {at.past, 1});
    ctx.require_equal(n, dim_of(past, 5, 2), "heads of attention's past", {}, {at.past, 2});
    present[3] = present[3] + dim_of(past, 5, 3);
    present[4] = ctx.require_equal(present[4], dim_of(past, 5, 4), "head size of attention's past", {}, {at.past, 4});
  }
  // How much of a shared buffer counts is data.
  const Scores scores{out[0], n, out[1], shares_buffer ? Dim() : present[3]};
  if (at.mask >= 0 && ctx.has_input(at.mask)) require_mask(ctx, at.mask, scores, true);
  if (at.score_bias >= 0 && ctx.has_input(at.score_bias)) require_score_bias(ctx, at.score_bias, scores);
  if (!ctx.wants_output(1)) return;
  if (shares_buffer) return ctx.set_tensor(1, past.has_rank() ? past.dtype : dtype, past.shape);
  ctx.set_tensor(1, dtype, std::move(present));
}

// s: positions, of queries and of keys; m: heads and what is in them.
void add_microsoft_attention_ops(Registry& r) {
  using enum Role;
  constexpr Axes kProjected =
      axes_by("b s~ i, i m~, m~, b [s]~ [s]~, _ b m~ s~ m~, [_] [m]~ [s]~ [s]~, , , b _ _ -> b s~ m~, _ b m~ s~ m~");
  r.add({.domain = kMicrosoft,
         .name = "Attention",
         .shape = attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kMask, kState, kMask, kCount},
         .axes = kProjected,
         .flops = projected_attention_flops});
  r.add({.domain = kMicrosoft,
         .name = "DecoderMaskedSelfAttention",
         .shape = attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kMask, kState, kMask, kCount, kSetting, kIndex},
         .axes = kProjected});
  r.add({.domain = kMicrosoft,
         .name = "QAttention",
         .shape = quantized_attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kQuantScale, kQuantScale, kMask, kZeroPoint, kZeroPoint, kState},
         .axes = axes_by("b s~ i~, i~ m~, m~, , m~, b [s]~ [s]~, , m~, _ b m~ s~ m~ -> b s~ m~, _ b m~ s~ m~"),
         .flops = projected_attention_flops});
  r.add({.domain = kMicrosoft,
         .name = "MultiHeadAttention",
         .shape = multi_head_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kBias, kMask, kMask, kState, kState, kCount, kIndex},
         .axes = axes_by(multi_head_axes),
         .flops = multi_head_flops});
  r.add({.domain = kMicrosoft,
         .name = "DecoderMaskedMultiHeadAttention",
         .shape = masked_multi_head_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kMask, kMask, kState, kState, kCount, kSetting, kIndex, kBias},
         .axes = axes_by(masked_multi_head_axes)});
  r.add({.domain = kMicrosoft,
         .name = "LongformerAttention",
         .shape = keep_shape,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kMask, kWeight, kBias, kCondition},
         .axes = axes_by("b s~ i, i m~, m~, b s~, i m~, m~, b s~ -> b s~ m~")});
  r.add({.domain = kMicrosoft,
         .name = "DecoderAttention",
         .shape = decoder_attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kWeight, kWeight, kBias, kMask, kState, kState, kSetting},
         .axes = axes_by("s~ b i, s~ b i, i m~, i m~, m~, b s~, b m~ s~ m~, b m~ s~ m~ -> "
                         "s~ b m~, b m~ s~ m~, b m~ s~ m~"),
         .batch = no_batch("its batch stands in the second axis")});
}

}  // namespace thaw::ops
