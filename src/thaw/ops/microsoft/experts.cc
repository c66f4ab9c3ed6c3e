// Mixtures of experts of com.microsoft: MoE, QMoE.
#include <algorithm>
#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

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
    if (n.original(i)) n.set_operand(i, n.joined(n.leading(i)));
  n.become(0, n.after().parted(n.node().output(0), both), Form::kLeading);
}

void batch_moe(BatchContext& n) { batch_experts(n, {0, 1}); }
void batch_qmoe(BatchContext& n) { batch_experts(n, {0, 1, 14}); }

}  // namespace

void add_microsoft_expert_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "MoE",
         .shape = keep_shape,
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
