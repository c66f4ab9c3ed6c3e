// Losses, and the optimizers of ai.onnx.preview.training.
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

namespace {

bool is_reduced(const NodeView& view) { return view.attr_string("reduction", "mean") != "none"; }

// Scores (N, C, d1 …) against labels (N, d1 …): one loss a label, or a scalar when reduced.
void loss_rule(Context& ctx) {
  const Fact &scores = ctx.input(0), &labels = ctx.input(1), &weights = ctx.input(2);
  std::optional<Shape> each = labels.shape;
  if (scores.has_rank()) {
    if (scores.rank() < 2)
      return ctx.invalid("a loss needs scores (N, C, …), not rank " + std::to_string(scores.rank()));
    Shape without_classes = *scores.shape;
    without_classes.erase(without_classes.begin() + 1);
    each = require_same_shape(ctx, without_classes, each, "a loss's scores and labels");
    if (weights.rank() == 1)
      ctx.require_equal(scores.dim(1), weights.dim(0), "classes and their weights", {0, 1}, {2, 0});
  }
  if (is_reduced(ctx)) each = Shape{};
  ctx.set_tensor(0, scores.dtype, std::move(each));
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, scores.dtype);
}

// Labels are classes, or the one that is ignored.
void needs_of_loss(Context& ctx) {
  const Fact& scores = ctx.input(0);
  constexpr std::string_view kWhat = "a label and the classes of a loss";
  if (ctx.has_attribute("ignore_index")) return ctx.leave_open(kWhat, 1);
  need_between(ctx, 1, 0, scores.rank() > 1 ? scores.dim(1) - 1 : dim::Dim(), kWhat);
}

// Inputs R, T, then groups of n tensors: the optimized ones, their gradients, then the states; the outputs are the new
// optimized tensors and the new states, each of its old one's shape.
template <int kStates>
void optimizer_rule(Context& ctx) {
  int groups = kStates + 2, tensors = ctx.num_inputs() - 2;
  if (tensors < groups || tensors % groups != 0)
    return ctx.invalid("an optimizer needs R, T and a multiple of " + std::to_string(groups) + " tensors, not " +
                       std::to_string(tensors));
  int n = tensors / groups;
  for (int i = 0; i < n; ++i)
    require_same_shape(ctx, ctx.input(2 + i).shape, ctx.input(2 + n + i).shape, "a tensor and its gradient");
  for (int o = 0; o < ctx.num_outputs() && o < n * (kStates + 1); ++o) {
    int input = o < n ? 2 + o : 2 + n + o;
    if (ctx.wants_output(o)) shape_of_input(ctx, o, input, ctx.input(input).dtype);
  }
}

// Output i is the gradient with respect to the i-th tensor of `xs`, which is input i.
void gradient_rule(Context& ctx) {
  for (int o = 0; o < ctx.num_outputs() && o < ctx.num_inputs(); ++o)
    if (ctx.wants_output(o)) shape_of_input(ctx, o, o, ctx.input(o).dtype);
}

// Labels say which class counts.
std::optional<AxesMap> loss_axes(NodeView& view) {
  auto map = match_axes(
      is_reduced(view) ? "n~ c~ d~..., n~ d~..., c~ -> , n~ c~ d~..." : "n c~ d..., n d..., c~ -> n d..., n c~ d...",
      view);
  if (!map) return map;
  for (AxisLink& classes : map->links)
    if (classes.axis_of_input(0) == 1) classes.index = 1;
  return map;
}

// The mean over each sample's losses: by weight, where what is ignored has none.
ir::Value* mean_loss(const BatchContext& n, const BatchEmit& after, ir::Value* loss, ir::Value* labels) {
  const ir::DataType type = n.input(0).dtype, label_type = n.input(1).dtype;
  const auto all = BatchContext::axes_of_sample(n.rank(1));
  ir::Value *weights = n.original(2), *counts = nullptr, *each = nullptr;
  if (const auto ignored = n.attr_int("ignore_index")) {
    ir::Value* number = after.cast(after.integer(*ignored), label_type);
    counts = after.emit("Not", {after.emit("Equal", {labels, number})});
  }
  if (weights) {
    ir::Value* zero = after.cast(after.integer(0), label_type);
    ir::Value* classes = counts ? after.emit("Where", {counts, labels, zero}) : labels;
    each = after.emit("Gather", {weights, classes}, {{"axis", int64_t{0}}});
    if (counts) each = after.mul(each, after.cast(counts, type));
  } else if (counts) {
    each = after.cast(counts, type);
  }
  if (!each) return after.reduce("ReduceMean", loss, all, false);
  return after.div(after.reduce("ReduceSum", loss, all, false), after.reduce("ReduceSum", each, all, false));
}

// Without its reduction, which follows for each sample.
void batch_loss(BatchContext& n) {
  if (n.is_batched(2)) BatchContext::refuse("its weights differ from sample to sample");
  const auto all = BatchContext::axes_of_sample(n.rank(1));  // [n, d1, …]
  const std::string reduction(n.attr_string("reduction", "mean"));
  ir::Value *scores = n.leading(0), *labels = n.leading(1);
  ir::Value* both = n.slice(n.shape(labels), 0, 2);
  // Facts are of the operands that it had.
  const BatchEmit after = n.after();
  ir::Value* loss = after.unflattened(n.node().output(0), both);
  if (reduction == "sum") loss = after.reduce("ReduceSum", loss, all, false);
  if (reduction == "mean") loss = mean_loss(n, after, loss, labels);
  n.set_operand(0, n.flattened(scores));
  n.set_operand(1, n.flattened(labels));
  n.set_attribute({"reduction", std::string("none")});
  n.become(0, loss, Form::kLeading);
  if (n.wants_output(1)) n.become(1, after.unflattened(n.node().output(1), both), Form::kLeading);
}

constexpr std::string_view kTrains = "it trains, on all samples together";

}  // namespace

void add_loss_ops(Registry& r) {
  using enum Role;
  r.add({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}, {.shape = loss_rule,
                                                                   .op_class = OpClass::kReduction,
                                                                   .needs = needs_of_loss,
                                                                   .operands = {kData, kIndex, kBias},
                                                                   .axes = axes_by(loss_axes),
                                                                   .batch = batch_with(batch_loss)});
  // Rate, count of updates, then tensors.
  const auto add_optimizer = [&r](std::string_view name, ShapeRule shape) {
    r.add({.domain = kTraining,
           .name = name,
           .shape = shape,
           .operands = {kSetting, kSetting, kData},
           .axes = no_axes(kTrains),
           .evaluation = Evaluation::kNever});
  };
  add_optimizer("Adagrad", optimizer_rule<1>);
  add_optimizer("Adam", optimizer_rule<2>);
  add_optimizer("Momentum", optimizer_rule<1>);
  r.add({.domain = kTraining,
         .name = "Gradient",
         .shape = gradient_rule,
         .axes = no_axes(kTrains),
         .evaluation = Evaluation::kNever});
}

}  // namespace thaw::ops
