// Mixtures of experts of com.microsoft: MoE, QMoE.
#include <algorithm>
#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

namespace {

// Tokens are [tokens, hidden], or [batch, sequence, hidden]; what the router says of them is always [tokens, experts],
// whose rows are no axis of the latter. f: the experts' own features. Expert weights are [experts, out, in].
std::optional<AxesMap> expert_axes(NodeView& view, std::string_view weights) {
  const bool is_packed = view.input(0).rank() == 2;
  const std::string_view tokens = is_packed ? "t" : "b~ s~", rows = is_packed ? "t" : "_";
  return match_axes(fmt::format("{0} i, {1} e~, {2} -> {0} o", tokens, rows, fmt::format(fmt::runtime(weights), rows)),
                    view);
}

std::optional<AxesMap> moe_axes(NodeView& view) {
  return expert_axes(view, "e~ f~ i, e~ f~, e~ o f~, e~ o, e~ f~ i, e~ f~");
}

// Weights are packed along their last axis; scales and zero points are of blocks.
std::optional<AxesMap> qmoe_axes(NodeView& view) {
  return expert_axes(view, "e~ f~ _..., , e~ f~, e~ o _..., , e~ o, e~ f~ _..., , e~ f~, , , , {0} e~");
}

// Every operand in `of_tokens` has as many rows as the first has tokens, one batch after the other.
void batch_experts(BatchContext& n, std::initializer_list<int> of_tokens) {
  if (n.rank(0) == 2) return batch_by_axes(n);
  const auto is_of_tokens = [&](int i) { return std::ranges::find(of_tokens, i) != of_tokens.end(); };
  for (int i = 0; i < n.num_inputs(); ++i)
    if (n.is_batched(i) && !is_of_tokens(i))
      BatchContext::refuse(fmt::format("its operand {} differs from sample to sample", i));
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  for (int i : of_tokens)
    if (n.original(i)) n.set_operand(i, n.flattened(n.leading(i)));
  n.become(0, n.after().unflattened(n.node().output(0), both), Form::kLeading);
}

// The features of tokens, experts and the weights of both layers; an expert's weights may be transposed.
void moe_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact &x = ctx.input(0), &router = ctx.input(1), &first = ctx.input(2);
  if (x.rank() < 2) return;
  const dim::Dim hidden = x.shape->back();
  dim::Dim experts = router.rank() == 2 ? router.dim(1) : dim::Dim();
  require_axis(ctx, 1, 2, 0, dim::product(std::span(*x.shape).first(x.shape->size() - 1)), "a router's row a token");
  for (int i : {2, 4, 6}) {
    experts = require_axis(ctx, i, 3, 0, experts, "experts of a router and its weights");
    require_axis(ctx, i + 1, 2, 0, experts, "experts and their biases");
  }
  require_axis(ctx, 5, 2, 1, hidden, "hidden size of an expert's bias");
  if (first.rank() != 3) return;
  const bool transposed = dim::same(first.dim(1), hidden) && !dim::same(first.dim(2), hidden);
  const int in = transposed ? 1 : 2, out = transposed ? 2 : 1;
  // An activation with a gate takes two features for each that it outputs, where both stand in one weight.
  const bool gated = ctx.attr_int("swiglu_fusion", 0) != 0;
  const dim::Dim inner = first.dim(out);
  require_axis(ctx, 2, 3, in, hidden, "hidden size of an expert's first layer");
  require_axis(ctx, 3, 2, 1, inner, "an expert's first layer and its bias");
  require_axis(ctx, 4, 3, out, hidden, "hidden size of an expert's second layer");
  const dim::Dim fed = ctx.input(4).rank() == 3 ? ctx.input(4).dim(in) : dim::Dim();
  ctx.require_equal(inner, fed * (gated ? 2 : 1), "an expert's two layers", {2, out}, {4, in});
}

void batch_moe(BatchContext& n) { batch_experts(n, {0, 1}); }
void batch_qmoe(BatchContext& n) { batch_experts(n, {0, 1, 14}); }

}  // namespace

void add_microsoft_expert_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "MoE",
         .shape = moe_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kWeight, kBias, kWeight, kBias, kWeight, kBias},
         .axes = axes_by(moe_axes),
         .batch = batch_with(batch_moe)});
  r.add({.domain = kMicrosoft,
         .name = "QMoE",
         .shape = keep_shape,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kWeight, kQuantScale, kBias, kWeight, kQuantScale, kBias, kWeight, kQuantScale,
                      kBias, kZeroPoint, kZeroPoint, kZeroPoint, kData, kQuantScale},
         .axes = axes_by(qmoe_axes),
         .batch = batch_with(batch_qmoe)});
}

}  // namespace thaw::ops
