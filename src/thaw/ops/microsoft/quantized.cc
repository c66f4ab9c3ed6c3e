// Quantized operators of com.microsoft that are no products: QLinear arithmetic, pools, Concat, reductions, and
// quantization itself.
#include <algorithm>
#include <array>
#include <string>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/concat.h"
#include "thaw/ops/onnx/normalization.h"
#include "thaw/ops/onnx/pool.h"
#include "thaw/ops/onnx/quantization.h"
#include "thaw/ops/onnx/reduction.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using ir::DataType;

namespace {

// Inputs A, scale, zero point, B, scale, zero point, …
void qlinear_binary_rule(Context& ctx) {
  constexpr std::array kOperands = {0, 3};
  ctx.set_tensor(0, ctx.input(0).dtype, broadcast_inputs(ctx, kOperands));
}

void qlinear_where_rule(Context& ctx) {
  constexpr std::array kOperands = {0, 1, 4};
  ctx.set_tensor(0, ctx.input(1).dtype, broadcast_inputs(ctx, kOperands));
}

void qlinear_pool_rule(Context& ctx) {
  ctx.set_tensor(0, ctx.input(0).dtype, pool_shape(ctx, ctx.attr_int("channels_last", 0) != 0, true));
}

void qlinear_global_pool_rule(Context& ctx) {
  ctx.set_tensor(0, ctx.input(0).dtype, global_pool_shape(ctx, ctx.attr_int("channels_last", 0) != 0));
}

// Y's scale and zero point, then groups of tensor, scale, zero point.
void qlinear_concat_rule(Context& ctx) {
  DataType dtype = ctx.input(1).dtype;
  std::optional<Shape> out;
  int axis = -1;
  for (int i = 2; i < ctx.num_inputs(); i += 3) {
    const Fact& x = ctx.input(i);
    if (!x.has_rank())
      return ctx.set_tensor(0, dtype, out ? std::optional(unknown_shape(static_cast<int>(out->size()))) : std::nullopt);
    if (!out) {
      auto normal = normalize_axis(ctx, ctx.attr_int("axis", 0), x.rank());
      if (!normal) return;
      axis = *normal;
      out = x.shape;
      continue;
    }
    if (x.rank() != static_cast<int>(out->size())) return ctx.invalid("the tensors to join differ in rank");
    for (int k = 0; k < x.rank(); ++k) {
      if (k == axis)
        (*out)[k] = (*out)[k] + x.dim(k);
      else
        (*out)[k] = ctx.require_equal((*out)[k], x.dim(k), "axes of tensors to join", {2, k}, {i, k});
    }
  }
  ctx.set_tensor(0, dtype, std::move(out));
}

// Axes are an attribute whatever the opset; all of them when it is empty.
void reduce_rule(Context& ctx, DataType dtype) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, dtype, std::nullopt);
  if (!x.has_rank()) return;
  auto axes = normalize_axes(ctx, ctx.attr_ints("axes").value_or(std::vector<int64_t>()), x.rank());
  if (!axes) return;
  Shape out;
  for (int k = 0; k < x.rank(); ++k) {
    bool reduced = axes->empty() || std::find(axes->begin(), axes->end(), k) != axes->end();
    if (!reduced)
      out.push_back(x.dim(k));
    else if (ctx.attr_int("keepdims", 1) != 0)
      out.push_back(1);
  }
  ctx.set_tensor(0, dtype, std::move(out));
}

void qlinear_reduce_mean_rule(Context& ctx) { reduce_rule(ctx, ctx.input(0).dtype); }
void reduce_sum_integer_rule(Context& ctx) { reduce_rule(ctx, DataType::kInt32); }

// A, zero point, B, zero point.
void mul_integer_rule(Context& ctx) {
  constexpr std::array kOperands = {0, 2};
  ctx.set_tensor(0, DataType::kInt32, broadcast_inputs(ctx, kOperands));
}

void microsoft_quantize_rule(Context& ctx) {
  shape_of_input(ctx, 0, 0, ctx.has_input(2) ? ctx.input(2).dtype : DataType::kUint8);
}

void microsoft_dequantize_rule(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(1).dtype); }

bool has_channels_last(const NodeView& view) { return view.attr_int("channels_last", 0) != 0; }

std::optional<AxesMap> qlinear_pool_axes(NodeView& view) {
  return match_axes(has_channels_last(view) ? "n x~... c -> n x~... c" : kPoolAxes.pattern, view);
}

// What has no part in a quantized mean is the zero point, which need not be 0.
std::optional<AxesMap> qlinear_global_pool_axes(NodeView& view) {
  return global_pool_axes(view, Combine::kOther, has_channels_last(view));
}

// As Softmax had it before opset 13, over all axes from `axis` on.
std::optional<AxesMap> qlinear_softmax_axes(NodeView& view) {
  return axes_mixing(view, view.attr_int("axis", -1), view.attr_int("opset", 13) < 13);
}

// Tensors with a scale and a zero point each, after those of the result.
constexpr int kFirstPart = 2, kPartStep = 3;

std::optional<AxesMap> qlinear_concat_axes(NodeView& view) { return concat_axes(view, kFirstPart, kPartStep); }

void batch_qlinear_concat(BatchContext& n) {
  for (int i = 0; i < n.num_inputs(); ++i)
    if ((i < kFirstPart || i % kPartStep != kFirstPart) && n.is_batched(i))
      BatchContext::refuse("its scales differ from sample to sample");
  batch_parts(n, kFirstPart, kPartStep);
}

// One scale and zero point for all of a tensor.
void add_elementwise(Registry& r) {
  using enum Role;
  r.add({"QLinearAdd", "QLinearMul"},
        {.domain = kMicrosoft,
         .shape = qlinear_binary_rule,
         .operands = {kData, kQuantScale, kZeroPoint, kData, kQuantScale, kZeroPoint, kQuantScale, kZeroPoint},
         .axes = axes_by("..., , , ... -> ..."),
         .batch = batch_with(batch_elementwise),
         .standard = standard_qlinear_elementwise});
  r.add({.domain = kMicrosoft,
         .name = "MulInteger",
         .shape = mul_integer_rule,
         .operands = {kData, kZeroPoint, kData, kZeroPoint},
         .axes = axes_by("..., , ... -> ..."),
         .batch = batch_with(batch_elementwise)});
  r.add({"QLinearSigmoid", "QLinearLeakyRelu"}, {.domain = kMicrosoft,
                                                 .shape = keep_shape,
                                                 .operands = {kData, kQuantScale, kZeroPoint, kQuantScale, kZeroPoint},
                                                 .axes = axes_by("... -> ..."),
                                                 .batch = batch_with(batch_elementwise),
                                                 .standard = standard_qlinear_elementwise});
  r.add({.domain = kMicrosoft,
         .name = "QLinearWhere",
         .shape = qlinear_where_rule,
         .operands = {kCondition, kData, kQuantScale, kZeroPoint, kData, kQuantScale, kZeroPoint, kQuantScale,
                      kZeroPoint},
         .axes = axes_by("..., ..., , , ... -> ..."),
         .batch = batch_with(batch_elementwise),
         .standard = standard_qlinear_where});
}

// What gathers several elements of one tensor.
void add_reductions(Registry& r) {
  using enum Role;
  const OperandRoles quantized = {kData, kQuantScale, kZeroPoint, kQuantScale, kZeroPoint};
  r.add({.domain = kMicrosoft,
         .name = "QLinearAveragePool",
         .shape = qlinear_pool_rule,
         .op_class = OpClass::kReduction,
         .operands = quantized,
         .axes = axes_by(qlinear_pool_axes),
         .standard = standard_qlinear_pool});
  r.add({.domain = kMicrosoft,
         .name = "QLinearGlobalAveragePool",
         .shape = qlinear_global_pool_rule,
         .op_class = OpClass::kReduction,
         .operands = quantized,
         .axes = axes_by(qlinear_global_pool_axes),
         .standard = standard_qlinear_pool});
  r.add({.domain = kMicrosoft,
         .name = "QLinearSoftmax",
         .shape = keep_shape,
         .operands = quantized,
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = -1}},
         .axes = axes_by(qlinear_softmax_axes),
         .batch = batch_with(batch_shifting_axes)});
  r.add({.domain = kMicrosoft,
         .name = "QLinearReduceMean",
         .shape = qlinear_reduce_mean_rule,
         .op_class = OpClass::kReduction,
         .operands = quantized,
         .attributes = {{.name = "axes", .role = kAxes}},
         .axes = axes_by(reduction_axes<Combine::kOther>),
         .batch = batch_with(batch_reduce)});
  r.add({.domain = kMicrosoft,
         .name = "ReduceSumInteger",
         .shape = reduce_sum_integer_rule,
         .op_class = OpClass::kReduction,
         .attributes = {{.name = "axes", .role = kAxes}},
         .axes = axes_by(reduction_axes<Combine::kSum>),
         .batch = batch_with(batch_reduce)});
}

}  // namespace

void add_microsoft_quantized_ops(Registry& r) {
  using enum Role;
  add_elementwise(r);
  add_reductions(r);
  r.add({.domain = kMicrosoft,
         .name = "QLinearConcat",
         .shape = qlinear_concat_rule,
         .op_class = OpClass::kMovement,
         .operands = {{kQuantScale, kZeroPoint, kData, kQuantScale, kZeroPoint}, kPartStep},
         .attributes = {{.name = "axis", .role = kAxes}},
         .axes = axes_by(qlinear_concat_axes),
         .batch = batch_with(batch_qlinear_concat),
         .standard = standard_qlinear_concat});
  const auto add_op = [&r](std::string_view name, ShapeRule shape) {
    r.add({.domain = kMicrosoft,
           .name = name,
           .shape = shape,
           .operands = {kData, kQuantScale, kZeroPoint},
           .attributes = {{.name = "axis", .role = kAxes, .otherwise = 1}},
           .axes = axes_by(quantize_axes),
           .batch = batch_with(batch_quantize),
           .standard = standard_quantize});
  };
  add_op("QuantizeLinear", microsoft_quantize_rule);
  add_op("DequantizeLinear", microsoft_dequantize_rule);
}

}  // namespace thaw::ops
