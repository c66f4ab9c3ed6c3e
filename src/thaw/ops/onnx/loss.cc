// Losses, and the optimizers of ai.onnx.preview.training.
#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

namespace {

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
  if (ctx.attr_string("reduction", "mean") != "none") each = Shape{};
  ctx.set_tensor(0, scores.dtype, std::move(each));
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, scores.dtype);
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

}  // namespace

void add_loss_ops(Registry& r) {
  r.add({"", "NegativeLogLikelihoodLoss", loss_rule, OpClass::kReduction});
  r.add({"", "SoftmaxCrossEntropyLoss", loss_rule, OpClass::kReduction});
  r.add({kTraining, "Adagrad", optimizer_rule<1>, OpClass::kOther});
  r.add({kTraining, "Adam", optimizer_rule<2>, OpClass::kOther});
  r.add({kTraining, "Momentum", optimizer_rule<1>, OpClass::kOther});
  r.add({kTraining, "Gradient", gradient_rule, OpClass::kOther});
}

}  // namespace thaw::ops
