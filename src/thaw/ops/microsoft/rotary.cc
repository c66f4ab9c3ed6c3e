// Rotary embeddings of com.microsoft: RotaryEmbedding, MRotaryEmbedding, GemmaRotaryEmbedding.
#include <string>

#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/attention.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

namespace {

void rotary_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &cos = ctx.input(2);
  shape_of_input(ctx, 0, 0, x.dtype);
  require_same_shape(ctx, cos.shape, ctx.input(3).shape, "the caches of a rotary embedding");
  if (x.has_rank() && x.rank() != 3 && x.rank() != 4)
    return ctx.invalid("a rotary embedding needs rank 3 or 4, not " + std::to_string(x.rank()));
  require_rotary_sizes(ctx, {.cos = 2, .positions = 1});
  if (x.rank() >= 3 && cos.rank() == 2) {
    const int length = x.rank() - 2;
    ctx.require_at_most(x.dim(length), cos.dim(0), "tokens within the rotary caches", {0, length}, {2, 0});
  }
}

// Rotates q and k: outputs 0 and 1 are shaped as inputs 1 and 3.
void gemma_rotary_rule(Context& ctx) {
  shape_of_input(ctx, 0, 1, ctx.input(1).dtype);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 3, ctx.input(3).dtype);
}

// One position is that of the first token, the others count on from there.
void needs_of_rotary(Context& ctx) {
  const Fact &x = ctx.input(0), &cos = ctx.input(2), &positions = ctx.input(1);
  constexpr std::string_view kWhat = "a position within the rotary caches";
  if (cos.rank() != 2 || x.rank() < 3 || !positions.has_rank()) return ctx.leave_open(kWhat, 1);
  const dim::Dim tokens = positions.rank() == 1 ? x.dim(x.rank() - 2) : dim::Dim(1);
  need_between(ctx, 1, 0, cos.dim(0) - tokens, kWhat);
}

void batch_microsoft_rotary(BatchContext& n) { batch_rotary(n, 1, 2); }

}  // namespace

// [batch, sequence, hidden] or [batch, heads, sequence, head].
void add_microsoft_rotary_ops(Registry& r) {
  using enum Role;
  // One position is the first token's: the others count on, each by its index.
  r.add({.domain = kMicrosoft,
         .name = "RotaryEmbedding",
         .shape = rotary_rule,
         .needs = needs_of_rotary,
         .operands = {kData, kPosition, kData, kData},
         .axes = axes_by("b h... s c~, b s, _ _, _ _ -> b h... s c~ | b h... s~ c~, _, _ _, _ _ -> b h... s~ c~"),
         .batch = batch_with(batch_microsoft_rotary),
         .standard = standard_rotary_embedding});
  r.add({.domain = kMicrosoft,
         .name = "MRotaryEmbedding",
         .shape = rotary_rule,
         .needs = needs_of_rotary,
         .operands = {kData, kPosition, kData, kData},
         .axes = axes_by("b h... s c~, _ b s, _ _, _ _ -> b h... s c~")});
  r.add({.domain = kMicrosoft,
         .name = "GemmaRotaryEmbedding",
         .shape = gemma_rotary_rule,
         .axes = axes_by("b s d, b h s d, b h s d, b h s d, b h s d -> b h s d, b h s d")});
}

}  // namespace thaw::ops
