// Operators of com.microsoft that make text, or help to: BeamSearch and its like, NGramRepeatBlock.
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

constexpr std::string_view kGenerates = "how many tokens it makes depends on its data";

// The operands that say how long a sequence gets, and how many each prompt gets.
constexpr int kMaxLength = 1, kNumSequences = 4;

Dim number_from(Context& ctx, int input) {
  const auto fed = ctx.dims_from(input);
  return fed && fed->size() == 1 ? fed->front() : Dim();
}

Dim batch_of(const Fact& prompts) { return prompts.rank() > 0 ? prompts.dim(0) : Dim(); }

// Sequences [batch, num_return_sequences, max_length], their scores, those of all tokens at each step.
void beam_search_rule(Context& ctx) {
  const Dim batch = batch_of(ctx.input(0)), count = number_from(ctx, kNumSequences);
  ctx.set_tensor(0, DataType::kInt32, Shape{batch, count, number_from(ctx, kMaxLength)});
  const DataType scores = ctx.input(5).dtype;
  if (ctx.wants_output(1)) ctx.set_tensor(1, scores, Shape{batch, count});
  if (ctx.wants_output(2)) ctx.set_tensor(2, scores, unknown_shape(4));
}

void search_rule(Context& ctx) {
  ctx.set_tensor(0, DataType::kInt32, Shape{batch_of(ctx.input(0)), number_from(ctx, kMaxLength)});
  if (ctx.wants_output(1)) ctx.set_tensor(1, ctx.input(3).dtype, unknown_shape(2));
}

// scores_out is shaped as the scores, input 1.
void ngram_repeat_rule(Context& ctx) {
  shape_of_input(ctx, 0, 1, ctx.input(1).dtype);
  if (ctx.input(0).rank() == 2) require_axis(ctx, 1, 2, 0, ctx.input(0).dim(0), "a sequence and its scores");
}

std::optional<std::vector<Dim>> sequence_sizes(ThawedView& view, int operand) {
  const Fact& out = view.output(0);
  if (out.rank() < 2) return std::nullopt;
  return std::vector{out.dim(operand == kMaxLength ? out.rank() - 1 : 1)};
}

}  // namespace

void add_microsoft_generation_ops(Registry& r) {
  using enum Role;
  const auto add_op = [&r](Operator op) {
    op.domain = kMicrosoft;
    op.axes = no_axes(kGenerates);
    op.sizes = sequence_sizes;
    op.evaluation = Evaluation::kNever;
    r.add(std::move(op));
  };
  add_op({.name = "BeamSearch",
          .shape = beam_search_rule,
          .operands = {kIndex, kSize, kSetting, kSetting, kSize, kSetting, kSetting, kCondition, kCondition, kMask,
                       kIndex, kSetting}});
  add_op({.name = "WhisperBeamSearch",
          .shape = beam_search_rule,
          .operands = {kData, kSize, kSetting, kSetting, kSize, kSetting, kSetting, kCondition, kCondition, kMask,
                       kIndex, kSetting, kIndex, kIndex, kSetting}});
  add_op({.name = "GreedySearch",
          .shape = search_rule,
          .operands = {kIndex, kSize, kSetting, kSetting, kCondition, kCondition, kMask, kCondition, kSetting}});
  add_op({.name = "Sampling",
          .shape = search_rule,
          .operands = {kIndex, kSize, kSetting, kSetting, kCondition, kCondition, kMask, kCondition, kSetting},
          .deterministic = false});
  // A score depends on its token's number.
  r.add({.domain = kMicrosoft,
         .name = "NGramRepeatBlock",
         .shape = ngram_repeat_rule,
         .operands = {kIndex, kData},
         .axes = axes_by("b s~, b v~ -> b v~")});
}

}  // namespace thaw::ops
