// Activations: the output has the input's shape. Softmax and its kin also need their axis to exist; PRelu's slope
// broadcasts to the input.
#include <array>

#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

namespace {

void activation(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

Element rectify(Operands a) { return maximum(a[0], Element::integer(0)); }

void relu_rule(Context& ctx) {
  activation(ctx);
  set_typed_values<rectify>(ctx, ctx.input(0).dtype);
}

// Before opset 13 the input is taken as a matrix, cut at `axis`: an axis equal to the rank leaves rows of one element.
void softmax_rule(Context& ctx) {
  activation(ctx);
  const Fact& x = ctx.input(0);
  bool as_matrix = ctx.opset() < 13;
  int64_t axis = ctx.attr_int("axis", as_matrix ? 1 : -1);
  if (!x.has_rank() || (as_matrix && axis == x.rank())) return;
  if (x.rank() == 0 && (axis == 0 || axis == -1)) return;
  normalize_axis(ctx, axis, x.rank());
}

void prelu_rule(Context& ctx) {
  activation(ctx);
  const Fact &x = ctx.input(0), &slope = ctx.input(1);
  if (!x.has_rank() || !slope.has_rank()) return;
  if (ctx.opset() >= 7) return require_broadcasts_to(ctx, 1, *x.shape, "PRelu's slope");
  // One slope for all, or one a channel.
  if (slope.rank() == 1 && x.rank() >= 2)
    ctx.require_broadcast(x.dim(1), slope.dim(0), "PRelu's slope", {0, 1}, {1, 0});
}

void swiglu_rule(Context& ctx) {
  ctx.set_tensor(0, first_dtype(ctx),
                 require_same_shape(ctx, ctx.input(0).shape, ctx.input(1).shape, "SwiGLU's operands"));
}

constexpr std::array kActivations = {"Celu",      "Elu",      "Gelu",  "HardSigmoid", "HardSwish",
                                     "LeakyRelu", "Mish",     "Selu",  "Shrink",      "Sigmoid",
                                     "Softplus",  "Softsign", "Swish", "Tanh",        "ThresholdedRelu"};

}  // namespace

void add_activation_ops(Registry& r) {
  for (const char* name : kActivations) r.add({"", name, activation, OpClass::kElementwise});
  r.add({"", "Relu", relu_rule, OpClass::kElementwise});
  r.add({"", "PRelu", prelu_rule, OpClass::kElementwise});
  r.add({"", "SwiGLU", swiglu_rule, OpClass::kElementwise});
  // One axis of these is seen whole: not element-wise, though shapes stay.
  for (const char* name : {"Softmax", "LogSoftmax", "Hardmax"}) r.add({"", name, softmax_rule, OpClass::kOther});
}

}  // namespace thaw::ops
