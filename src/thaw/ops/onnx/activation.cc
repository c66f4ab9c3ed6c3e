// Activations: the output has the input's shape. Softmax and its kin also need their axis to exist; PRelu's slope
// broadcasts to the input.
#include <cmath>
#include <numbers>
#include <string_view>

#include "thaw/ops/onnx/gelu.h"
#include "thaw/ops/onnx/normalization.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

namespace {

void activation(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

Element rectify(Operands a) { return maximum(a[0], Element::integer(0)); }

void relu_rule(Context& ctx) {
  activation(ctx);
  set_typed_values<rectify>(ctx, ctx.input(0).dtype);
}

// Before opset 13 the input is taken as a matrix, cut at `axis`.
bool takes_matrix(const NodeView& view) { return view.opset() < 13; }
int64_t softmax_axis(const NodeView& view) { return view.attr_int("axis", takes_matrix(view) ? 1 : -1); }

// An axis equal to the rank leaves rows of one element.
void softmax_rule(Context& ctx) {
  activation(ctx);
  const Fact& x = ctx.input(0);
  bool as_matrix = takes_matrix(ctx);
  int64_t axis = softmax_axis(ctx);
  if (!x.has_rank() || (as_matrix && axis == x.rank())) return;
  if (x.rank() == 0 && (axis == 0 || axis == -1)) return;
  normalize_axis(ctx, axis, x.rank());
}

void prelu_rule(Context& ctx) {
  activation(ctx);
  const Fact &x = ctx.input(0), &slope = ctx.input(1);
  if (!x.has_rank() || !slope.has_rank()) return;
  if (ctx.opset() >= 7) {
    constexpr std::string_view kWhat = "PRelu's slope";
    if (!ctx.wants_sizes_as_run() || slope.rank() > x.rank()) return require_broadcasts_to(ctx, 1, *x.shape, kWhat);
    // ONNX Runtime broadcasts the input to the slope, too.
    const int extra = x.rank() - slope.rank();
    for (int k = 0; k < slope.rank(); ++k)
      ctx.specify_at_most(slope.dim(k), x.dim(k + extra), kWhat, {1, k}, {0, k + extra});
    return ctx.set_tensor(0, x.dtype, broadcast_shapes(ctx, *x.shape, *slope.shape, kWhat, {0, 0}, {1, 0}));
  }
  // One slope for all, or one a channel.
  if (slope.rank() == 1 && x.rank() >= 2)
    ctx.require_broadcast(x.dim(1), slope.dim(0), "PRelu's slope", {0, 1}, {1, 0});
}

void swiglu_rule(Context& ctx) {
  ctx.set_tensor(0, first_dtype(ctx),
                 require_same_shape(ctx, ctx.input(0).shape, ctx.input(1).shape, "SwiGLU's operands"));
}

template <Combine kCombine>
std::optional<AxesMap> softmax_axes(NodeView& view) {
  return axes_mixing(view, softmax_axis(view), takes_matrix(view), kCombine);
}

std::optional<AxesMap> prelu_axes(NodeView& view) {
  return match_axes(view.opset() >= 7 ? "...* -> ..." : "... -> ...", view);
}

// Before opset 13 the axes from `axis` on are one.
void newer_softmax(AdapterContext& n) {
  if (!n.crosses(13)) return;
  if (!n.input(0).has_rank()) throw NoEqual{"its operand's rank is not known"};
  const int64_t axis = n.attr_int("axis", 1), rank = n.input(0).rank(), first = axis < 0 ? axis + rank : axis;
  if (first == rank - 1) return n.set({"axis", first});
  const Emit& at = n.at();
  ir::Value* x = n.changing().input(0);
  ir::Value* flat = at.emit("Flatten", {x}, {{"axis", first}});
  ir::Value* soft = at.emit(n.node().op_type(), {flat}, {{"axis", int64_t{-1}}});
  n.become(0, at.reshape(soft, at.shape(x)));
}

void newer_prelu(AdapterContext& n) {
  if (n.crosses(7) && n.input(1).rank() == 1) throw NoEqual{"its slope broadcasts otherwise"};
}

void older_gelu(AdapterContext& n) {
  const DataType type = n.input(0).dtype;
  if (!ir::is_floating(type)) throw NoEqual{"its type is not known"};
  n.become(0, gelu_as_arithmetic(n.at(), n.changing().input(0), type, n.attr_string("approximate", "none") == "tanh"));
}

// HardSwish and Mish changed by the types that they take; they stand for this where there is neither.
void older_hard_swish(AdapterContext& n) {
  if (!n.crosses(14)) return;
  ir::Value* x = n.changing().input(0);
  n.become(0, n.at().mul(x, n.at().emit("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}})));
}

void older_mish(AdapterContext& n) {
  if (!n.crosses(18)) return;
  ir::Value* x = n.changing().input(0);
  n.become(0, n.at().mul(x, n.at().emit("Tanh", {n.at().emit("Softplus", {x})})));
}

void older_swish(AdapterContext& n) {
  const Emit& at = n.at();
  const DataType type = n.input(0).dtype;
  if (!ir::is_floating(type)) throw NoEqual{"its type is not known"};
  ir::Value* x = n.changing().input(0);
  const double alpha = n.attr_float("alpha", 1);
  n.become(0, at.mul(x, at.emit("Sigmoid", {alpha == 1 ? x : at.mul(x, at.scalar(alpha, type))})));
}

}  // namespace

// Hendrycks and Gimpel, "Gaussian Error Linear Units".
ir::Value* gelu_as_arithmetic(const Emit& at, ir::Value* x, DataType type, bool by_tanh) {
  const auto number = [&](double value) { return at.scalar(value, type); };
  ir::Value* inner = nullptr;
  if (by_tanh) {
    ir::Value* cube = at.mul(at.mul(at.mul(x, x), x), number(0.044715));
    inner = at.emit("Tanh", {at.mul(at.add(x, cube), number(std::sqrt(2 / std::numbers::pi)))});
  } else {
    inner = at.emit("Erf", {at.div(x, number(std::numbers::sqrt2))});
  }
  return at.mul(at.mul(x, number(0.5)), at.add(inner, number(1)));
}

void add_activation_ops(Registry& r) {
  const auto add_op = [&r](Operator op) {
    op.shape = activation;
    op.op_class = OpClass::kElementwise;
    r.add(std::move(op));
  };
  add_op({.name = "Celu"});
  add_op({.name = "Elu"});
  add_op({.name = "LeakyRelu"});
  add_op({.name = "Selu"});
  add_op({.name = "Shrink"});
  add_op({.name = "Softplus"});
  add_op({.name = "ThresholdedRelu"});
  add_op({.name = "Sigmoid", .saturates = true, .magnitude = magnitude_of_share});
  add_op({.name = "HardSigmoid", .saturates = true, .magnitude = magnitude_within_one});
  add_op({.name = "Softsign", .saturates = true, .magnitude = magnitude_within_one});
  add_op({.name = "Tanh", .saturates = true, .magnitude = magnitude_within_one});
  add_op({.name = "Gelu", .older = older_gelu});
  add_op({.name = "HardSwish", .older = older_hard_swish});
  add_op({.name = "Mish", .older = older_mish});
  add_op({.name = "Swish", .older = older_swish});
  r.add({.name = "Relu",
         .shape = relu_rule,
         .op_class = OpClass::kElementwise,
         .evaluation = Evaluation::kByRule,
         .saturates = true,
         .magnitude = magnitude_not_negative});
  r.add({.name = "PRelu",
         .shape = prelu_rule,
         .op_class = OpClass::kElementwise,
         .operands = {Role::kData, Role::kBias},
         .axes = axes_by(prelu_axes),
         .newer = newer_prelu});
  r.add({.name = "SwiGLU", .shape = swiglu_rule, .op_class = OpClass::kElementwise});
  // One axis of these is seen whole: not element-wise, though shapes stay.
  const auto add_softmax = [&r](Operator op) {
    op.shape = softmax_rule;
    op.attributes = {{"axis", Role::kAxes, 1, 1, 12}, {"axis", Role::kAxes, -1, 13}};
    op.batch = batch_with(batch_shifting_axes);
    op.newer = newer_softmax;
    op.saturates = true;
    r.add(std::move(op));
  };
  add_softmax({.name = "Softmax", .axes = axes_by(softmax_axes<Combine::kSoftmax>), .magnitude = magnitude_of_share});
  add_softmax(
      {.name = "LogSoftmax", .axes = axes_by(softmax_axes<Combine::kLogSoftmax>), .magnitude = magnitude_of_logarithm});
  add_softmax({.name = "Hardmax", .axes = axes_by(softmax_axes<Combine::kOther>), .magnitude = magnitude_within_one});
}

}  // namespace thaw::ops
