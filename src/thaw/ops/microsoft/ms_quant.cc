// Quantized operators of com.microsoft: QLinear*, weights of few bits, dynamic quantization.
#include <algorithm>
#include <array>
#include <string>

#include "thaw/ops/onnx/conv.h"
#include "thaw/ops/onnx/matmul.h"
#include "thaw/ops/onnx/pool.h"
#include "thaw/ops/onnx/quantization.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

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
  ctx.set_tensor(0, ctx.input(0).dtype, pool_shape(ctx, ctx.attr_int("channels_last", 0) != 0));
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

void qlinear_conv_rule(Context& ctx) {
  ctx.set_tensor(0, ctx.input(7).dtype,
                 conv_shape(ctx, {.x = 0, .w = 3, .bias = 8, .channels_last = ctx.attr_int("channels_last", 0) != 0}));
}

void qgemm_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  DataType dtype = ctx.has_input(8) ? ctx.input(8).dtype : DataType::kFloat;
  ctx.set_tensor(0, dtype, gemm_shape(ctx, 0, 3, ctx.has_input(6) ? 6 : -1, ta, tb));
}

void dynamic_quantize_matmul_rule(Context& ctx) {
  auto shape = matmul_shape(ctx, 0, 1);
  if (shape && !shape->empty()) require_broadcasts_to(ctx, 4, *shape, "the bias of a matrix product");
  ctx.set_tensor(0, ctx.input(0).dtype, std::move(shape));
}

void matmul_integer_to_float_rule(Context& ctx) {
  auto shape = matmul_shape(ctx, 0, 1);
  if (shape && !shape->empty()) require_broadcasts_to(ctx, 6, *shape, "the bias of a matrix product");
  ctx.set_tensor(0, ctx.input(2).dtype, std::move(shape));
}

void matmul_integer16_rule(Context& ctx) { ctx.set_tensor(0, DataType::kInt32, matmul_shape(ctx, 0, 1)); }

// A's shape with its last axis, of `in`, replaced by `out`.
std::optional<Shape> projected(Context& ctx, Dim in, Dim out) {
  const Fact& a = ctx.input(0);
  if (!a.has_rank()) return std::nullopt;
  if (a.rank() == 0) {
    ctx.invalid("a matrix product needs an operand of rank 1 or more");
    return std::nullopt;
  }
  ctx.require_equal(a.shape->back(), in, "inner dims of the matrix product", {0, a.rank() - 1});
  Shape shape = *a.shape;
  shape.back() = out;
  return shape;
}

Dim positive_attr(Context& ctx, std::string_view name) {
  int64_t v = ctx.attr_int(name, 0);
  if (v >= 1) return v;
  ctx.invalid(std::string(name) + " is missing or not positive");
  return {};
}

// B is packed: its sizes are the attributes K (in) and N (out).
void matmul_nbits_rule(Context& ctx) {
  Dim k = positive_attr(ctx, "K"), n = positive_attr(ctx, "N");
  const Fact& b = ctx.input(1);
  if (b.rank() == 3) ctx.require_equal(n, b.dim(0), "MatMulNBits' N and its weight", {}, {1, 0});
  ctx.set_tensor(0, ctx.input(0).dtype, projected(ctx, k, n));
}

void matmul_bnb4_rule(Context& ctx) {
  Dim k = positive_attr(ctx, "K"), n = positive_attr(ctx, "N");
  bool transposed = ctx.attr_int("transB", 1) != 0;
  ctx.set_tensor(0, ctx.input(0).dtype, transposed ? projected(ctx, k, n) : projected(ctx, n, k));
}

void matmul_nbits_mlp_rule(Context& ctx) {
  Dim k = positive_attr(ctx, "K"), n = positive_attr(ctx, "N");
  ctx.set_tensor(0, ctx.input(0).dtype, projected(ctx, k, n));
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, ctx.input(0).dtype);
}

// uint8 data packs 8 / bits numbers in each byte of its last axis.
void gather_block_quantized_rule(Context& ctx) {
  const Fact &data = ctx.input(0), &indices = ctx.input(1);
  DataType dtype = ctx.input(2).dtype;
  ctx.set_tensor(0, dtype, std::nullopt);
  if (!data.has_rank() || !indices.has_rank()) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("gather_axis", 0), data.rank());
  if (!axis) return;
  Shape wide = *data.shape;
  int64_t bits = ctx.attr_int("bits", 4);
  if (data.dtype == DataType::kUint8 && (bits == 2 || bits == 4)) wide.back() = wide.back() * (8 / bits);
  if (data.dtype == DataType::kUndefined) wide.back() = Dim();
  Shape out(wide.begin(), wide.begin() + *axis);
  out.insert(out.end(), indices.shape->begin(), indices.shape->end());
  out.insert(out.end(), wide.begin() + *axis + 1, wide.end());
  ctx.set_tensor(0, dtype, std::move(out));
}

void quantize_rule(Context& ctx) {
  shape_of_input(ctx, 0, 0, ctx.has_input(2) ? ctx.input(2).dtype : DataType::kUint8);
}

void dequantize_rule(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(1).dtype); }

// W is (directions, input, 4 * hidden), R (directions, hidden, 4 * hidden).
void dynamic_quantize_lstm_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &w = ctx.input(1), &r = ctx.input(2);
  if (x.has_rank() && x.rank() != 3)
    return ctx.invalid("the sequence has rank " + std::to_string(x.rank()) + ", not 3");
  Dim directions = ctx.attr_string("direction", "forward") == "bidirectional" ? 2 : 1, hidden;
  if (auto size = ctx.attr_int("hidden_size")) hidden = *size;
  if (r.rank() == 3) hidden = ctx.require_equal(hidden, r.dim(1), "hidden_size and the recurrent weight", {}, {2, 1});
  if (w.rank() == 3 && x.has_rank())
    ctx.require_equal(x.dim(2), w.dim(1), "input size of a recurrent weight", {0, 2}, {1, 1});
  Dim length = x.has_rank() ? x.dim(0) : Dim(), batch = x.has_rank() ? x.dim(1) : Dim();
  if (ctx.wants_output(0)) ctx.set_tensor(0, x.dtype, Shape{length, directions, batch, hidden});
  for (int o : {1, 2})
    if (ctx.wants_output(o)) ctx.set_tensor(o, x.dtype, Shape{directions, batch, hidden});
}

}  // namespace

void add_ms_quant_ops(Registry& r) {
  auto add_op = [&r](std::string_view name, ShapeRule rule, OpClass kind = OpClass::kOther) {
    r.add({kMicrosoft, name, rule, kind});
  };
  for (const char* name : {"QLinearAdd", "QLinearMul"}) add_op(name, qlinear_binary_rule);
  for (const char* name : {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"}) add_op(name, keep_shape);
  add_op("QLinearWhere", qlinear_where_rule);
  add_op("QLinearAveragePool", qlinear_pool_rule, OpClass::kReduction);
  add_op("QLinearGlobalAveragePool", qlinear_global_pool_rule, OpClass::kReduction);
  add_op("QLinearConcat", qlinear_concat_rule, OpClass::kMovement);
  add_op("QLinearReduceMean", qlinear_reduce_mean_rule, OpClass::kReduction);
  add_op("ReduceSumInteger", reduce_sum_integer_rule, OpClass::kReduction);
  add_op("QLinearConv", qlinear_conv_rule, OpClass::kContraction);
  add_op("QGemm", qgemm_rule, OpClass::kContraction);
  add_op("DynamicQuantizeMatMul", dynamic_quantize_matmul_rule, OpClass::kContraction);
  add_op("MatMulIntegerToFloat", matmul_integer_to_float_rule, OpClass::kContraction);
  add_op("MatMulInteger16", matmul_integer16_rule, OpClass::kContraction);
  add_op("MatMulNBits", matmul_nbits_rule, OpClass::kContraction);
  add_op("MatMulNBitsMlp", matmul_nbits_mlp_rule, OpClass::kContraction);
  add_op("MatMulBnb4", matmul_bnb4_rule, OpClass::kContraction);
  add_op("GatherBlockQuantized", gather_block_quantized_rule, OpClass::kMovement);
  add_op("QuantizeLinear", quantize_rule);
  add_op("DequantizeLinear", dequantize_rule);
  add_op("DynamicQuantizeLSTM", dynamic_quantize_lstm_rule, OpClass::kContraction);
}

}  // namespace thaw::ops
