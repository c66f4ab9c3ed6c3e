// Attention of com.microsoft: Attention and its quantized, packed and masked forms, MultiHeadAttention,
// GroupQueryAttention, PagedAttention, rotary embeddings.
//
// A present state is as long as the past and the new keys together; where past and present share one buffer it is the
// past's.
#include <algorithm>
#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

Dim dim_of(const Fact& fact, int rank, int axis) { return fact.rank() == rank ? fact.dim(axis) : Dim(); }

// The attribute, at least 1; unknown (and invalid) otherwise.
Dim heads(Context& ctx, std::string_view name = "num_heads") {
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

struct Projected {
  int weights = 1, bias = 2, past = -1;
  bool packed = false;  // input (tokens, hidden) instead of (batch, sequence, hidden)
};

// Attention with the projections of Q, K and V in one weight (input, q + k + v).
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
  if (at.packed || !ctx.wants_output(1)) return;
  const Fact& past = ctx.input(at.past);
  if (ctx.has_input(at.past) && ctx.attr_int("past_present_share_buffer", 0) != 0)
    return ctx.set_tensor(1, past.has_rank() ? past.dtype : dtype, past.shape);
  Dim n = heads(ctx);
  Shape present = {2, out[0], n, out[1], share(ctx, qk_hidden, n, "attention's hidden size by num_heads")};
  if (ctx.has_input(at.past)) {
    present[1] = ctx.require_equal(present[1], dim_of(past, 5, 1), "batch of attention's past", {0, 0}, {at.past, 1});
    present[3] = present[3] + dim_of(past, 5, 3);
    present[4] = ctx.require_equal(present[4], dim_of(past, 5, 4), "head size of attention's past", {}, {at.past, 4});
  }
  ctx.set_tensor(1, dtype, std::move(present));
}

void attention_rule(Context& ctx) { projected_attention(ctx, {.past = 4}, ctx.input(0).dtype); }
void quantized_attention_rule(Context& ctx) { projected_attention(ctx, {.past = 8}, ctx.input(3).dtype); }
void packed_attention_rule(Context& ctx) { projected_attention(ctx, {.packed = true}, ctx.input(0).dtype); }

// Where MultiHeadAttention and its masked form have their inputs.
struct Separate {
  int past_key = 6, past_value = 7;
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
  } else if (ctx.has_input(2)) {
    cross = v.rank() == 4;  // (batch, heads, keys, head): a cache that is read, not extended
    head = q.rank() == 3 ? share(ctx, q.dim(2), n, "the query's hidden size by num_heads") : Dim();
    if (v.rank() == 3) {
      keys = v.dim(1);
      v_head = share(ctx, v.dim(2), n, "the value's hidden size by num_heads");
    } else if (cross) {
      keys = v.dim(2);
      v_head = v.dim(3);
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
    present_key[3] = ctx.require_equal(head, dim_of(past_key, 4, 3), "head size of the past key", {}, {at.past_key, 3});
    present_value[3] =
        ctx.require_equal(v_head, dim_of(past_value, 4, 3), "head size of the past value", {}, {at.past_value, 3});
    ctx.require_equal(batch, dim_of(past_key, 4, 0), "batch of the past key", {0, 0}, {at.past_key, 0});
  }
  set_if_wanted(ctx, 1, q.dtype, present_key);
  set_if_wanted(ctx, 2, q.dtype, present_value);
  // How many of a shared buffer's keys count is data.
  set_if_wanted(ctx, 3, q.dtype, Shape{batch, n, sequence, at.shares_buffer ? Dim() : total});
}

void multi_head_rule(Context& ctx) {
  separate_attention(ctx, {.past_key = 6, .past_value = 7, .shares_buffer = ctx.has_input(8)});
}

void masked_multi_head_rule(Context& ctx) {
  separate_attention(
      ctx, {.past_key = 5, .past_value = 6, .shares_buffer = ctx.attr_int("past_present_share_buffer", 0) != 0});
}

// (tokens, hidden), or (tokens, heads, 3, head) packed.
void packed_multi_head_rule(Context& ctx) {
  const Fact &q = ctx.input(0), &v = ctx.input(2);
  Dim tokens = q.has_rank() && q.rank() >= 1 ? q.dim(0) : Dim();
  Dim hidden = q.rank() == 4 ? q.dim(1) * q.dim(3) : ctx.has_input(2) ? dim_of(v, 2, 1) : Dim();
  ctx.set_tensor(0, q.dtype, Shape{tokens, hidden});
}

// Hidden size of the output, and size of one head: a packed query holds heads + 2 * kv_heads of them.
struct Grouped {
  Dim hidden, head;
};

Grouped grouped_query(Context& ctx, int last) {
  const Fact& q = ctx.input(0);
  Dim n = heads(ctx), kv = heads(ctx, "kv_num_heads");
  if (n.is_known() && kv.is_known()) ctx.require_divisible(n, kv, "num_heads by kv_num_heads");
  Dim size = q.dim(last);
  if (ctx.has_input(1)) return {size, share(ctx, size, n, "the query's hidden size by num_heads")};
  Dim head = share(ctx, size, n + kv * 2, "a packed query by its heads");
  return {head * n, head};
}

void group_query_rule(Context& ctx) {
  const Fact &q = ctx.input(0), &k = ctx.input(1), &past = ctx.input(3);
  DataType cache = ctx.has_input(3) ? past.dtype : q.dtype;
  for (int o : {1, 2}) set_if_wanted(ctx, o, cache, unknown_shape(4));
  if (!q.has_rank()) return ctx.set_tensor(0, q.dtype, unknown_shape(3));
  if (q.rank() != 3) return ctx.invalid("the query has rank " + std::to_string(q.rank()) + ", not 3");
  auto [hidden, head] = grouped_query(ctx, 2);
  ctx.set_tensor(0, q.dtype, Shape{q.dim(0), q.dim(1), hidden});
  Dim kv = heads(ctx, "kv_num_heads");
  if (k.rank() == 3) {
    ctx.require_equal(q.dim(0), k.dim(0), "batch of query and key", {0, 0}, {1, 0});
    ctx.require_equal(head * kv, k.dim(2), "the key's hidden size", {}, {1, 2});
  }
  // The cache holds the longest sequence so far: as long as input 6 says, or as its buffer is.
  auto total_list = ctx.has_input(6) ? ctx.dims_from(6) : std::nullopt;
  Dim total = total_list && total_list->size() == 1 ? total_list->front() : Dim();
  Dim past_length = ctx.has_input(3) ? dim_of(past, 4, 2) : Dim(int64_t{0});
  bool fixed = ctx.attr_int("sliding_window_cache", 0) != 0 && ctx.has_input(3);
  Dim present = fixed ? past_length : dim::max(total, past_length);
  bool wants_cache = ctx.wants_output(1) || ctx.wants_output(2);
  if (present.is_unknown() && past_length.is_known() && wants_cache)
    present = ctx.data_dependent(ctx.wants_output(1) ? 1 : 2, 2);
  // A quantized cache may pack two numbers in one.
  Dim width = ctx.has_input(3) ? dim_of(past, 4, 3) : head;
  for (int o : {1, 2}) set_if_wanted(ctx, o, cache, Shape{q.dim(0), kv, present, width});
  set_if_wanted(ctx, 3, q.dtype, Shape{q.dim(0), heads(ctx), q.dim(1), total});
}

void sparse_attention_rule(Context& ctx) {
  const Fact& q = ctx.input(0);
  for (int o : {1, 2})
    if (ctx.wants_output(o)) shape_of_input(ctx, o, o + 2, ctx.input(o + 2).dtype);
  if (q.rank() != 3) return ctx.set_tensor(0, q.dtype, unknown_shape(3));
  ctx.set_tensor(0, q.dtype, Shape{q.dim(0), q.dim(1), grouped_query(ctx, 2).hidden});
}

void paged_attention_rule(Context& ctx) {
  const Fact& q = ctx.input(0);
  for (int o : {1, 2})
    if (ctx.wants_output(o)) shape_of_input(ctx, o, o + 2, ctx.input(o + 2).dtype);
  if (q.rank() != 2) return ctx.set_tensor(0, q.dtype, unknown_shape(2));
  Dim hidden = grouped_query(ctx, 1).hidden;
  if (int64_t v_head = ctx.attr_int("v_head_size", 0); v_head > 0) hidden = heads(ctx) * v_head;
  ctx.set_tensor(0, q.dtype, Shape{q.dim(0), hidden});
}

void rotary_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &cos = ctx.input(2);
  shape_of_input(ctx, 0, 0, x.dtype);
  require_same_shape(ctx, cos.shape, ctx.input(3).shape, "the caches of a rotary embedding");
  if (x.has_rank() && x.rank() != 3 && x.rank() != 4)
    return ctx.invalid("a rotary embedding needs rank 3 or 4, not " + std::to_string(x.rank()));
  if (x.rank() == 4 && cos.rank() == 2 && ctx.attr_int("rotary_embedding_dim", 0) == 0)
    ctx.require_equal(x.dim(3), cos.dim(1) * 2, "head size and the rotary caches", {0, 3}, {2, 1});
}

// Rotates q and k: outputs 0 and 1 are shaped as inputs 1 and 3.
void gemma_rotary_rule(Context& ctx) {
  shape_of_input(ctx, 0, 1, ctx.input(1).dtype);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 3, ctx.input(3).dtype);
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

}  // namespace

void add_ms_attention_ops(Registry& r) {
  const auto add_op = r.group(kMicrosoft, OpClass::kContraction);
  add_op("Attention", attention_rule);
  add_op("DecoderMaskedSelfAttention", attention_rule);
  add_op("QAttention", quantized_attention_rule);
  add_op("PackedAttention", packed_attention_rule);
  add_op("MultiHeadAttention", multi_head_rule);
  add_op("DecoderMaskedMultiHeadAttention", masked_multi_head_rule);
  add_op("PackedMultiHeadAttention", packed_multi_head_rule);
  add_op("GroupQueryAttention", group_query_rule);
  add_op("SparseAttention", sparse_attention_rule);
  add_op("PagedAttention", paged_attention_rule);
  add_op("DecoderAttention", decoder_attention_rule);
  add_op("LongformerAttention", keep_shape);
  r.add({kMicrosoft, "RotaryEmbedding", rotary_rule, OpClass::kOther});
  r.add({kMicrosoft, "MRotaryEmbedding", rotary_rule, OpClass::kOther});
  r.add({kMicrosoft, "GemmaRotaryEmbedding", gemma_rotary_rule, OpClass::kOther});
}

}  // namespace thaw::ops
