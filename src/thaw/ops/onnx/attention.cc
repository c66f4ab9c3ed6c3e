// ai.onnx attention and state: Attention, FlexAttention, RotaryEmbedding, LinearAttention, CausalConvWithState.
#include "thaw/ops/onnx/attention.h"

#include <algorithm>
#include <string>

#include "thaw/ops/onnx/attention_older.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/cost.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// One operand of an attention as [batch, heads, length, size], whichever way it was given.
struct Heads {
  bool known = false;   // its rank is
  bool packed = false;  // given as [batch, length, heads * size]
  Dim batch, heads, length, size;
};

Heads heads_of(Context& ctx, int input, std::string_view heads_attribute) {
  Heads h;
  const Fact& fact = ctx.input(input);
  if (fact.rank() == 4) {
    h = {true, false, fact.dim(0), fact.dim(1), fact.dim(2), fact.dim(3)};
  } else if (fact.rank() == 3) {
    h = {true, true, fact.dim(0), Dim(), fact.dim(1), Dim()};
    auto heads = ctx.attr_int(heads_attribute);
    if (heads && *heads > 0) {
      h.heads = *heads;
      h.size = divide_evenly(ctx, fact.dim(2), *heads, "a packed size and its heads", {input, 2});
    }
  } else if (fact.has_rank()) {
    ctx.invalid("input " + std::to_string(input) + " has rank " + std::to_string(fact.rank()) + ", not 3 or 4");
  }
  return h;
}

// Sizes that Q, K and V share, stated and merged.
void merge_operands(Context& ctx, Heads& q, Heads& k, Heads& v) {
  Dim batch = ctx.require_equal(q.batch, k.batch, "batch of an attention's Q and K", {0, 0}, {1, 0});
  batch = ctx.require_equal(batch, v.batch, "batch of an attention's K and V", {1, 0}, {2, 0});
  q.batch = k.batch = v.batch = batch;
  Dim length = ctx.require_equal(k.length, v.length, "length of an attention's K and V", {1, k.packed ? 1 : 2},
                                 {2, v.packed ? 1 : 2});
  k.length = v.length = length;
  Dim heads = ctx.require_equal(k.heads, v.heads, "heads of an attention's K and V");
  k.heads = v.heads = heads;
  Dim size = ctx.require_equal(q.size, k.size, "head size of an attention's Q and K");
  q.size = k.size = size;
  if (heads.is_known() && !heads.is_constant(0)) ctx.require_divisible(q.heads, heads, "query heads and key heads");
}

// past (an input of [batch, heads, past, size]) concatenated with what comes now: [batch, heads, past + now, size].
std::optional<Shape> present_of(Context& ctx, int past_input, const Heads& now) {
  const Fact& past = ctx.input(past_input);
  if (!ctx.has_input(past_input)) return Shape{now.batch, now.heads, now.length, now.size};
  if (past.has_rank() && past.rank() != 4) {
    ctx.invalid("a past state has rank " + std::to_string(past.rank()) + ", not 4");
    return std::nullopt;
  }
  Dim before = past.has_rank() ? past.dim(2) : Dim();
  Shape present{now.batch, now.heads, before + now.length, now.size};
  if (!past.has_rank()) return present;
  present[0] = ctx.require_equal(now.batch, past.dim(0), "batch of an attention's past state", {}, {past_input, 0});
  present[1] = ctx.require_equal(now.heads, past.dim(1), "heads of an attention's past state", {}, {past_input, 1});
  present[3] = ctx.require_equal(now.size, past.dim(3), "head size of an attention's past state", {}, {past_input, 3});
  return present;
}

// As many products for each number of the query, and of the output, as there are keys.
Dim attention_flops(NodeView& view) {
  const Fact &key = view.input(1), &past = view.input(4);
  if (key.rank() < 3) return {};
  Dim keys = key.dim(key.rank() == 4 ? 2 : 1);
  if (view.has_input(4)) keys = keys + (past.rank() == 4 ? past.dim(2) : Dim());
  return (view.input(0).num_elements() + view.output(0).num_elements()) * keys * 2;
}

void attention(Context& ctx) {
  Heads q = heads_of(ctx, 0, "q_num_heads"), k = heads_of(ctx, 1, "kv_num_heads"), v = heads_of(ctx, 2, "kv_num_heads");
  DataType type = ctx.input(0).dtype, value_type = ctx.input(2).dtype;
  merge_operands(ctx, q, k, v);
  std::optional<Shape> out;
  if (q.packed)
    out = Shape{q.batch, q.length, q.heads * v.size};
  else if (q.known)
    out = Shape{q.batch, q.heads, q.length, v.size};
  ctx.set_tensor(0, type, std::move(out));

  std::optional<Shape> keys = present_of(ctx, 4, k), values = present_of(ctx, 5, v);
  Dim total = keys ? (*keys)[2] : Dim();
  if (keys && values) {
    const Dim length =
        ctx.require_equal((*keys)[2], (*values)[2], "length of an attention's past keys and values", {4, 2}, {5, 2});
    total = length;
  }
  // Since opset 24 the mask's last size may be shorter than the keys (it is padded). Batch and heads broadcast; the
  // specification lets the others do so too, ONNX Runtime does not.
  const Fact& mask = ctx.input(3);
  if (mask.rank() >= 2) {
    int rank = mask.rank();
    // ONNX Runtime knows the operator up to opset 24.
    constexpr std::string_view kQueries = "an attention's mask and its queries";
    if (ctx.opset() <= 24) {
      ctx.require_equal(mask.dim(rank - 2), q.length, kQueries, {3, rank - 2});
    } else {
      require_one_or(ctx, mask.dim(rank - 2), q.length, kQueries, {3, rank - 2});
    }
    if (ctx.opset() < 24) {
      ctx.require_equal(mask.dim(rank - 1), total, "an attention's mask and its keys", {3, rank - 1});
    } else {
      ctx.require_at_most(mask.dim(rank - 1), total, "an attention's mask and its keys", {3, rank - 1});
    }
    if (rank >= 3) require_one_or(ctx, mask.dim(rank - 3), q.heads, "heads of an attention's mask", {3, rank - 3});
    if (rank >= 4) require_one_or(ctx, mask.dim(rank - 4), q.batch, "batch of an attention's mask", {3, rank - 4});
  }
  if (ctx.wants_output(1)) ctx.set_tensor(1, type, keys);
  if (ctx.wants_output(2)) ctx.set_tensor(2, value_type, values);
  if (ctx.wants_output(3)) ctx.set_tensor(3, type, Shape{q.batch, q.heads, q.length, total});
}

// Attention whose scores and probabilities pass through subgraphs of the same shape.
void flex_attention(Context& ctx) {
  Heads q = heads_of(ctx, 0, ""), k = heads_of(ctx, 1, ""), v = heads_of(ctx, 2, "");
  DataType type = ctx.input(0).dtype;
  if (q.packed || k.packed || v.packed) {
    ctx.invalid("Q, K and V must have rank 4");
    return ctx.set_tensor(0, type, unknown_shape(4));
  }
  merge_operands(ctx, q, k, v);
  ctx.set_tensor(0, type, Shape{q.batch, q.heads, q.length, v.size});
  DataType inner = type == DataType::kDouble ? DataType::kDouble : DataType::kFloat;
  if (auto given = ctx.attr_int("softmax_precision")) inner = data_type_from_attr(*given);
  const Fact scores = Fact::tensor(inner, Shape{q.batch, q.heads, q.length, k.length});
  for (std::string_view name : {"score_mod", "prob_mod"})
    if (const ir::Graph* graph = ctx.attr_graph(name)) ctx.infer_subgraph(*graph, std::span(&scores, 1));
}

void rotary_embedding(Context& ctx) {
  same_as_input(ctx, 0, 0);
  const Fact& data = ctx.input(0);
  if (data.has_rank() && data.rank() != 3 && data.rank() != 4)
    return ctx.invalid("the input has rank " + std::to_string(data.rank()) + ", not 3 or 4");
  const Fact& cos = ctx.input(1);
  const Fact& sin = ctx.input(2);
  require_same_shape(ctx, cos.shape, sin.shape, "the cos and sin caches of a RotaryEmbedding");
  require_rotary_sizes(ctx, {.cos = 1, .positions = 3});
  // Without positions the caches are read in order: [batch, length, half].
  if (ctx.has_input(3) || !data.has_rank() || cos.rank() != 3) return;
  ctx.require_equal(cos.dim(0), data.dim(0), "batch of a RotaryEmbedding's caches", {1, 0}, {0, 0});
  int length_axis = data.rank() == 4 ? 2 : 1;
  ctx.require_equal(cos.dim(1), data.dim(length_axis), "length of a RotaryEmbedding's caches", {1, 1},
                    {0, length_axis});
}

void linear_attention(Context& ctx) {
  const Fact& query = ctx.input(0);
  const Fact& key = ctx.input(1);
  const Fact& value = ctx.input(2);
  const Fact& past = ctx.input(3);
  for (int i = 0; i < 3; ++i) {
    int rank = ctx.input(i).rank();
    if (rank < 0 || rank == 3) continue;
    ctx.invalid("input " + std::to_string(i) + " has rank " + std::to_string(rank) + ", not 3");
    return unknown_tensors(ctx, 0, query.dtype);
  }
  int64_t query_heads = ctx.attr_int("q_num_heads", 0), heads = ctx.attr_int("kv_num_heads", 0);
  if (query_heads < 1 || heads < 1 || query_heads % heads != 0) {
    ctx.invalid("q_num_heads must be a positive multiple of kv_num_heads");
    return unknown_tensors(ctx, 0, query.dtype);
  }
  Dim batch, length, key_size, value_size;
  auto merge = [&](const Fact& fact, int input) {
    if (!fact.has_rank()) return;
    batch = ctx.require_equal(batch, fact.dim(0), "batch of a LinearAttention", {}, {input, 0});
    length = ctx.require_equal(length, fact.dim(1), "length of a LinearAttention", {}, {input, 1});
  };
  merge(query, 0);
  merge(key, 1);
  merge(value, 2);
  if (key.has_rank())
    key_size = divide_evenly(ctx, key.dim(2), heads, "keys of a LinearAttention and its heads", {1, 2});
  if (value.has_rank())
    value_size = divide_evenly(ctx, value.dim(2), heads, "values of a LinearAttention and its heads", {2, 2});
  if (query.has_rank())
    key_size = ctx.require_equal(
        divide_evenly(ctx, query.dim(2), query_heads, "queries of a LinearAttention and its heads", {0, 2}), key_size,
        "head size of a LinearAttention's queries and keys");
  Shape state{batch, heads, key_size, value_size};
  DataType state_type = past.dtype != DataType::kUndefined ? past.dtype : query.dtype;
  if (past.rank() == 4) {
    auto merged = require_same_shape(ctx, state, past.shape, "a LinearAttention's past state");
    if (merged) state = *merged;
  }
  ctx.set_tensor(0, query.dtype, Shape{batch, length, state[3] * query_heads});
  ctx.set_tensor(1, state_type, std::move(state));
}

void causal_conv_with_state(Context& ctx) {
  const Fact& data = ctx.input(0);
  const Fact& weight = ctx.input(1);
  const Fact& past = ctx.input(3);
  same_as_input(ctx, 0, 0);
  Shape state(3);
  if (data.rank() == 3) {
    state[0] = data.dim(0);
    state[1] = data.dim(1);
  } else if (data.has_rank()) {
    ctx.invalid("the input has rank " + std::to_string(data.rank()) + ", not 3");
  }
  if (weight.rank() == 3) {
    state[1] = ctx.require_equal(state[1], weight.dim(0), "channels of a CausalConvWithState", {0, 1}, {1, 0});
    state[2] = weight.dim(2) - 1;
  }
  if (past.rank() == 3) {
    auto merged = require_same_shape(ctx, state, past.shape, "a CausalConvWithState's past state");
    if (merged) state = *merged;
  }
  if (data.rank() == 3) ctx.set_tensor(0, data.dtype, Shape{state[0], state[1], data.dim(2)});
  ctx.set_tensor(1, data.dtype, std::move(state));
}

// Heads are apart where there are as many of keys as of queries; else one of keys serves several of queries. Keys' sizes
// are summed over for the output and kept in the state.
std::optional<AxesMap> attention_axes(NodeView& view) {
  constexpr std::string_view kSameHeads =
      "b h q d~, b h k~ d~, b h k~ v, [b] [h] [q] k~, b h k~ d~, b h k~ v, b"
      " -> b h q v, b h k~ d~, b h k~ v, b h q k~";
  constexpr std::string_view kGroups =
      "b h q d~, b g~ k~ d~, b g~ k~ v, [b] [h] [q] k~, b g~ k~ d~, b g~ k~ v, b"
      " -> b h q v, b g~ k~ d~, b g~ k~ v, b h q k~";
  constexpr std::string_view kPacked =
      "b q f~, b k~ f~, b k~ w~, [b] [_] [q] k~, b f~ k~ f~, b w~ k~ w~, b"
      " -> b q w~, b f~ k~ f~, b w~ k~ w~, b _ q k~";
  constexpr std::string_view kMixedRanks = "b _..., b _..., b _..., _..., b _..., b _..., b -> b, b, b, b";
  const Fact &q = view.input(0), &k = view.input(1);
  if (!q.has_rank() || !k.has_rank()) return std::nullopt;
  if (q.rank() != k.rank()) return match_axes(kMixedRanks, view);
  if (q.rank() != 4) return match_axes(kPacked, view);
  return match_axes(dim::same(q.dim(1), k.dim(1)) ? kSameHeads : kGroups, view);
}

// Without positions the tables have a row for each token of each sequence.
std::optional<AxesMap> rotary_axes(NodeView& view) {
  if (!view.has_input(3))
    return match_axes("b h s d~, b s _, b s _ -> b h s d~ | b s f~, b s _, b s _ -> b s f~", view);
  auto map = match_axes("b h s d~, p _, p _, b s -> b h s d~ | b s f~, p _, p _, b s -> b s f~", view);
  if (!map) return map;
  for (AxisLink& rows : map->links) {
    if (rows.axis_of_input(1) != 0) continue;
    rows.combine = Combine::kOther;
    rows.index = 3;
  }
  return map;
}

// The tables of all samples stand one after the other, and positions count on.
void rotate_by_own_tables(BatchContext& n, int positions, int table) {
  if (n.rank(positions) != 2)
    BatchContext::refuse("its tables differ from sample to sample, without a position for each token");
  const bool merges = n.can_merge(0) && n.can_merge(positions);
  ir::Value* length = n.slice(n.shape(n.leading(table)), 1, 2);
  ir::Value* shifted = n.add(n.leading(positions), n.mul(n.sample_numbers(2), length));
  ir::Value* both = merges ? nullptr : n.slice(n.shape(n.leading(0)), 0, 2);
  n.set_operand(0, merges ? n.merged(0) : n.flattened(n.leading(0)));
  n.set_operand(positions, merges ? n.squeeze(shifted, {1}) : n.flattened(shifted));
  for (const int i : {table, table + 1}) n.set_operand(i, n.flattened(n.leading(i)));
  n.note_change();
  if (merges) return n.keep(Form::kMerged);
  n.become(0, n.after().unflattened(n.node().output(0), both), Form::kLeading);
}

void batch_rotary_embedding(BatchContext& n) { batch_rotary(n, 3, 1); }

}  // namespace

void require_rotary_sizes(Context& ctx, const Rotary& at) {
  const Fact &data = ctx.input(0), &cos = ctx.input(at.cos);
  if (data.rank() != 3 && data.rank() != 4) return;
  const bool has_heads = data.rank() == 4;
  const int64_t heads = ctx.attr_int("num_heads", 0), rotated = ctx.attr_int("rotary_embedding_dim", 0);
  Dim head = has_heads ? data.dim(3) : Dim();
  if (!has_heads && heads > 0)
    head = divide_evenly(ctx, data.dim(2), heads, "a rotary embedding's hidden size and its heads", {0, 2});
  const Dim width = cos.rank() >= 2 ? cos.dim(cos.rank() - 1) : Dim();
  if (rotated > 0) {
    ctx.require_at_most(rotated, head, "the rotated part of a head", {}, {0, data.rank() - 1});
    ctx.require_equal(rotated, width * 2, "the rotated part of a head and the rotary caches", {},
                      {at.cos, cos.rank() - 1});
  } else {
    ctx.require_equal(head, width * 2, "head size and the rotary caches", {}, {at.cos, cos.rank() - 1});
    // Heads are then as wide as the caches say.
    if (head.is_unknown()) ctx.require_divisible(data.dim(2), width * 2, "hidden size and the rotary caches", {0, 2});
  }
  if (!ctx.has_input(at.positions) || ctx.input(at.positions).rank() != 2) return;
  require_axis(ctx, at.positions, 2, 0, data.dim(0), "a row of positions for each sample");
  require_axis(ctx, at.positions, 2, 1, data.dim(has_heads ? 2 : 1), "a position for each token");
}

void batch_rotary(BatchContext& n, int positions, int table) {
  const bool own_tables = n.is_batched(table) || n.is_batched(table + 1);
  if (own_tables && n.original(positions)) return rotate_by_own_tables(n, positions, table);
  batch_by_axes(n);
}

namespace {

void needs_of_rotary_embedding(Context& ctx) {
  const Fact& cos = ctx.input(1);
  if (!ctx.has_input(3)) return;
  need_between(ctx, 3, 0, cos.rank() == 2 ? cos.dim(0) - 1 : Dim(), "a position within the rotary caches");
}

}  // namespace

void add_attention_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Attention",
         .shape = attention,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kMask, kState, kState, kCount},
         .axes = axes_by(attention_axes),
         .flops = attention_flops,
         .older = older_attention});
  r.add({.domain = "ai.onnx.preview",
         .name = "FlexAttention",
         .shape = flex_attention,
         .op_class = OpClass::kContraction,
         .axes = no_axes("its graphs see the scores of all samples together"),
         .evaluation = Evaluation::kNever});
  r.add({.name = "RotaryEmbedding",
         .shape = rotary_embedding,
         .needs = needs_of_rotary_embedding,
         .operands = {kData, kData, kData, kPosition},
         .axes = axes_by(rotary_axes),
         .batch = batch_with(batch_rotary_embedding),
         .older = older_rotary_embedding});
  r.add({.name = "LinearAttention",
         .shape = linear_attention,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kState, kData, kData},
         .axes = axes_by("b t~ q~, b t~ k~, b t~ v~, b h~ k~ v~, b t~ _, b t~ _ -> b t~ v~, b h~ k~ v~")});
  r.add({.name = "CausalConvWithState",
         .shape = causal_conv_with_state,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kState},
         .axes = axes_by("b c t~, c _ _, c, b c t~ -> b c t~, b c t~"),
         .flops = flops_of_filters});
}

}  // namespace thaw::ops
