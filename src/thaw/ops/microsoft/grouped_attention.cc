// Attention of com.microsoft in which several query heads share one head of keys: GroupQueryAttention, SparseAttention.
#include <string>

#include "thaw/ops/microsoft/attention.h"
#include "thaw/ops/microsoft/attention_operands.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

constexpr int kTotalLength = 6;  // the operand of GroupQueryAttention

// What the cache, its lengths, the tables of the rotary embedding and the bias must fit.
void require_grouped_operands(Context& ctx, const Scores& scores, Dim past, Dim kv_heads, Dim head) {
  const Dim total = scores.total, queries = scores.queries;
  if (ctx.has_input(3) && ctx.input(3).dtype == ctx.input(0).dtype)
    require_past(ctx, 3, 4, scores.batch, kv_heads, head);
  if (ctx.input(5).rank() == 1)
    ctx.require_equal(scores.batch, ctx.input(5).dim(0), "a length for each sample", {0, 0}, {5, 0});
  require_same_shape(ctx, ctx.input(7).shape, ctx.input(8).shape, "the caches of a rotary embedding");
  for (int i : {7, 8}) {
    const Fact& table = ctx.input(i);
    if (!ctx.has_input(i) || table.rank() != 2) continue;
    ctx.require_at_most(total, table.dim(0), "positions of a rotary table", {}, {i, 0});
    ctx.require_at_most(table.dim(1) * 2, head, "a rotary table and half of a head", {i, 1});
  }
  if (ctx.has_input(10)) require_score_bias(ctx, 10, scores);
  if (ctx.attr_int("sliding_window_cache", 0) != 0) return;
  // The cache grows by what is new, or is a buffer that is long enough; one of two factors is 0.
  ctx.require_at_most(queries, total, "new tokens within the total length");
  const Dim over = total - past;
  ctx.require_equal(dim::max(over, 0) * (over - queries), 0, "the total length: past and new, or within a buffer");
  // Several samples at once are prompts from the beginning, or one token each.
  ctx.require_equal((queries - 1) * (queries - total) * (scores.batch - 1), 0,
                    "one token, a prompt from the beginning, or a batch of 1");
}

void group_query_rule(Context& ctx) {
  const Fact &q = ctx.input(0), &past = ctx.input(3);
  DataType cache = ctx.has_input(3) ? past.dtype : q.dtype;
  for (int o : {1, 2}) set_if_wanted(ctx, o, cache, unknown_shape(4));
  if (!q.has_rank()) return ctx.set_tensor(0, q.dtype, unknown_shape(3));
  if (q.rank() != 3) return ctx.invalid("the query has rank " + std::to_string(q.rank()) + ", not 3");
  auto [hidden, head] = grouped_query(ctx, 2);
  ctx.set_tensor(0, q.dtype, Shape{q.dim(0), q.dim(1), hidden});
  Dim kv = heads(ctx, "kv_num_heads");
  for (int i : {1, 2}) {
    const Fact& fact = ctx.input(i);
    if (fact.rank() != 3) continue;
    ctx.require_equal(q.dim(0), fact.dim(0), "batch of query, key and value", {0, 0}, {i, 0});
    // No new keys: the cache is another node's.
    if (!fact.dim(1).is_constant(0))
      ctx.require_equal(q.dim(1), fact.dim(1), "length of query, key and value", {0, 1}, {i, 1});
    ctx.require_equal(head * kv, fact.dim(2), "the hidden size of key and value", {}, {i, 2});
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
  require_grouped_operands(ctx, {q.dim(0), heads(ctx), q.dim(1), total}, past_length, kv, head);
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

// Without a past, the longest sequence is the query.
std::optional<std::vector<Dim>> total_length(ThawedView& view, int operand) {
  if (operand != kTotalLength || view.has_input(3) || view.input(0).rank() != 3) return std::nullopt;
  return std::vector{view.input(0).dim(1)};
}

// As many products for each number of the output, twice, as there are keys: all that the cache holds.
Dim group_query_flops(NodeView& view) {
  const Fact &q = view.input(0), &cache = view.output(1);
  const Dim keys = cache.rank() == 4 ? cache.dim(2) : view.has_input(3) || q.rank() != 3 ? Dim() : q.dim(1);
  return view.output(0).num_elements() * keys * 4;
}

}  // namespace

Grouped grouped_query(Context& ctx, int last) {
  const Fact& q = ctx.input(0);
  Dim n = heads(ctx), kv = heads(ctx, "kv_num_heads");
  if (n.is_known() && kv.is_known()) ctx.require_divisible(n, kv, "num_heads by kv_num_heads");
  Dim size = q.dim(last);
  if (ctx.has_input(1)) return {size, share(ctx, size, n, "the query's hidden size by num_heads")};
  Dim head = share(ctx, size, n + kv * 2, "a packed query by its heads");
  return {head * n, head};
}

// s: positions, of queries and of keys; m: heads and what is in them.
void add_microsoft_grouped_attention_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "GroupQueryAttention",
         .shape = group_query_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kState, kState, kCount, kSize, kData, kData, kPosition, kMask, kBias,
                      kQuantScale, kQuantScale, kBias, kBias},
         .axes = axes_by(
             "b s~ m~, b s~ m~, b s~ m~, b m~ s~ m~, b m~ s~ m~, b [_], , _ _, _ _, b s~, [_] [m]~ [s]~ [s]~ -> "
             "b s~ m~, b m~ s~ m~, b m~ s~ m~, b m~ s~ s~"),
         .sizes = total_length,
         .flops = group_query_flops});
  r.add({.domain = kMicrosoft,
         .name = "SparseAttention",
         .shape = sparse_attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kState, kState, kIndex, kIndex, kCount, kCount, kData, kData},
         .axes = axes_by("b s~ m~, b s~ m~, b s~ m~, b m~ s~ m~, b m~ s~ m~, _ _, _ _, , b, _ _, _ _ -> "
                         "b s~ m~, b m~ s~ m~, b m~ s~ m~")});
}

}  // namespace thaw::ops
