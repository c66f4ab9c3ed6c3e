#include "thaw/ops/microsoft/attention_operands.h"

#include <string>

#include "thaw/ops/rule/broadcast.h"

namespace thaw::ops {

using dim::Dim;

void require_mask(Context& ctx, int input, const Scores& scores, bool one_for_all) {
  const Fact& mask = ctx.input(input);
  const int rank = mask.rank();
  if (rank < 0) return;
  if (rank < 1 || rank > 4) return ctx.invalid("the mask has rank " + std::to_string(rank) + ", not 1 to 4");
  const Dim first = mask.dim(0);
  if (rank == 1) {
    // Any of three lengths: a product of which one factor is 0.
    ctx.require_equal((first - scores.batch) * (first - scores.batch * 2) * (first - scores.batch * 3 - 2), 0,
                      "a mask of batch, 2*batch or 3*batch + 2 numbers", {input, 0});
    return;
  }
  constexpr std::string_view kBatch = "batch of a mask", kKeys = "a mask and the keys, past and new";
  if (rank == 2 && one_for_all) {
    require_one_or(ctx, first, scores.batch, kBatch, {input, 0});
    require_one_or(ctx, mask.dim(1), scores.total, kKeys, {input, 1});
    // One row serves several samples only where it is one number.
    ctx.require_equal((first - scores.batch) * (mask.dim(1) - 1), 0, "a mask of a row a sample, or of one number",
                      {input, 0});
    return;
  }
  ctx.require_equal(scores.batch, first, kBatch, {0, 0}, {input, 0});
  if (rank == 2) ctx.require_equal(scores.total, mask.dim(1), kKeys, {}, {input, 1});
  if (rank == 3) {
    ctx.require_equal(scores.queries, mask.dim(1), "a mask and the queries", {0, 1}, {input, 1});
    ctx.require_equal(scores.total, mask.dim(2), kKeys, {}, {input, 2});
  }
  if (rank == 4) {
    ctx.require_equal(1, mask.dim(1), "the second axis of a mask of four", {}, {input, 1});
    ctx.require_equal(mask.dim(2), mask.dim(3), "the last axes of a mask of four", {input, 2}, {input, 3});
    ctx.require_at_most(scores.total, mask.dim(3), kKeys, {}, {input, 3});
  }
}

void require_score_bias(Context& ctx, int input, const Scores& scores) {
  const Fact& bias = ctx.input(input);
  if (!bias.has_rank()) return;
  if (bias.rank() != 4)
    return ctx.invalid("the bias of the scores has rank " + std::to_string(bias.rank()) + ", not 4");
  require_one_or(ctx, bias.dim(0), scores.batch, "batch of a bias of scores", {input, 0}, {0, 0});
  require_one_or(ctx, bias.dim(1), scores.heads, "heads of a bias of scores", {input, 1});
  ctx.require_equal(scores.queries, bias.dim(2), "a bias of scores and the queries", {0, 1}, {input, 2});
  ctx.require_equal(scores.total, bias.dim(3), "a bias of scores and the keys, past and new", {}, {input, 3});
}

Dim require_past(Context& ctx, int key, int value, Dim batch, Dim heads, Dim size) {
  Dim past;
  for (int input : {key, value}) {
    const Fact& fact = ctx.input(input);
    if (!ctx.has_input(input) || !fact.has_rank()) continue;
    if (fact.rank() != 4) {
      ctx.invalid("a past state has rank " + std::to_string(fact.rank()) + ", not 4");
      continue;
    }
    ctx.require_equal(batch, fact.dim(0), "batch of a past state", {0, 0}, {input, 0});
    ctx.require_equal(heads, fact.dim(1), "heads of a past state", {}, {input, 1});
    past = ctx.require_equal(past, fact.dim(2), "length of the past keys and values", {key, 2}, {input, 2});
    ctx.require_equal(size, fact.dim(3), "head size of a past state", {}, {input, 3});
  }
  return past;
}

}  // namespace thaw::ops
