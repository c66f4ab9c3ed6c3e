// Products of com.microsoft with quantized operands: QLinearConv, QGemm, relatives of MatMulInteger, weights of few
// bits, DynamicQuantize*.
#include <string>

#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/conv.h"
#include "thaw/ops/onnx/matmul.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/cost.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

constexpr std::string_view kQuantizesWhole =
    "it finds a scale of its own for the whole tensor, all samples together; DynamicQuantizeLinear can be batched";
constexpr int kMostMlpAxes = 3;  // that kernels of MatMulNBitsMlp take

void microsoft_qlinear_conv_rule(Context& ctx) {
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
  if (shape && !shape->empty()) require_axis(ctx, 4, 1, 0, shape->back(), "the bias of a matrix product");
  ctx.set_tensor(0, ctx.input(0).dtype, std::move(shape));
}

void matmul_integer_to_float_rule(Context& ctx) {
  auto shape = matmul_shape(ctx, 0, 1);
  if (shape && !shape->empty()) require_axis(ctx, 6, 1, 0, shape->back(), "the bias of a matrix product");
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
  require_axis(ctx, 1, 3, 0, n, "MatMulNBits' N and its weight");
  const int64_t block = ctx.attr_int("block_size", 0), bits = ctx.attr_int("bits", 4);
  if (block > 0 && bits > 0 && block < (int64_t{1} << 31) && bits <= 8) {
    const Dim blocks = dim::ceil_div(k, block);
    require_axis(ctx, 1, 3, 1, blocks, "MatMulNBits' blocks of a column");
    require_axis(ctx, 1, 3, 2, block * bits / 8, "MatMulNBits' bytes of a block");
    require_axis(ctx, 2, 1, 0, n * blocks, "MatMulNBits' scales");
    require_axis(ctx, 2, 2, 0, n, "MatMulNBits' scales");
    require_axis(ctx, 2, 2, 1, blocks, "MatMulNBits' scales");
  }
  ctx.set_tensor(0, ctx.input(0).dtype, projected(ctx, k, n));
}

void matmul_bnb4_rule(Context& ctx) {
  Dim k = positive_attr(ctx, "K"), n = positive_attr(ctx, "N");
  bool transposed = ctx.attr_int("transB", 1) != 0;
  const int64_t block = ctx.attr_int("block_size", 0);
  if (block > 0 && ctx.input(2).rank() == 1)
    ctx.require_at_most(dim::ceil_div(n * k, block), ctx.input(2).dim(0), "MatMulBnb4's scales", {}, {2, 0});
  ctx.set_tensor(0, ctx.input(0).dtype, transposed ? projected(ctx, k, n) : projected(ctx, n, k));
}

void matmul_nbits_mlp_rule(Context& ctx) {
  Dim k = positive_attr(ctx, "K"), n = positive_attr(ctx, "N");
  ctx.set_tensor(0, ctx.input(0).dtype, projected(ctx, k, n));
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 0, ctx.input(0).dtype);
}

// B is one packed blob; operand 2 holds the sizes that it had, in and out.
void matmul_fpq4_rule(Context& ctx) {
  auto sizes = ctx.dims_from(2);
  const bool known = sizes && sizes->size() == 2;
  ctx.set_tensor(0, ctx.input(0).dtype, projected(ctx, known ? sizes->front() : Dim(), known ? sizes->back() : Dim()));
}

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
  for (int i : {1, 2}) {
    require_axis(ctx, i, 3, 0, directions, "directions of a recurrent weight");
    require_axis(ctx, i, 3, 2, hidden * 4, "four gates times hidden_size");
  }
  require_axis(ctx, 3, 2, 0, directions, "directions of a recurrent bias");
  require_axis(ctx, 3, 2, 1, hidden * 8, "both biases of the gates times hidden_size");
  // One scale and zero point for the whole weight of a direction, or one a channel.
  for (int i : {8, 9, 10, 11}) require_axis(ctx, i, 1, 0, directions, "a recurrent weight's scale or zero point");
  if (ctx.wants_output(0)) ctx.set_tensor(0, x.dtype, Shape{length, directions, batch, hidden});
  for (int o : {1, 2})
    if (ctx.wants_output(o)) ctx.set_tensor(o, x.dtype, Shape{directions, batch, hidden});
}

std::optional<AxesMap> qlinear_conv_axes(NodeView& view) {
  const bool is_last = view.attr_int("channels_last", 0) != 0;
  return match_axes(is_last ? "n x~... c, , , m _ _..., m, m, , , m -> n x~... m" : kQLinearConvAxes.pattern, view);
}

std::optional<AxesMap> qgemm_axes(NodeView& view) {
  constexpr std::string_view kPatterns[2][2] = {
      {"i k~, , , k~ j, j, j, [i] j -> i j", "i k~, , , j k~, j, j, [i] j -> i j"},
      {"k~ i, , , k~ j, j, j, [i] j -> i j", "k~ i, , , j k~, j, j, [i] j -> i j"}};
  return match_axes(kPatterns[view.attr_int("transA", 0) != 0][view.attr_int("transB", 0) != 0], view);
}

void batch_integer_product(BatchContext& n) { batch_product(n, {}); }

// Weights of few bits, packed: j is the axis of their columns, where they still have it.
void add_packed_products(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "MatMulNBits",
         .shape = matmul_nbits_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kQuantScale, kZeroPoint, kIndex, kBias},
         .axes = axes_by("... k, j _..., [j] _, [j] _, _, j -> ... j"),
         .flops = flops_of_rows});
  r.add({.domain = kMicrosoft,
         .name = "MatMulNBitsMlp",
         .shape = matmul_nbits_mlp_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kBias, kWeight, kQuantScale, kBias, kWeight, kQuantScale, kBias},
         .axes = axes_by("... k~, ... k~, k~, j _..., [j] _, j, j _..., [j] _, j -> ... j, ... k~", kMostMlpAxes)});
  r.add({.domain = kMicrosoft,
         .name = "MatMulBnb4",
         .shape = matmul_bnb4_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kQuantScale},
         .axes = axes_by("... k -> ... _"),
         .flops = flops_of_rows});
  r.add({.domain = kMicrosoft,
         .name = "MatMulFpQ4",
         .shape = matmul_fpq4_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kSetting},
         .axes = axes_by("... k -> ... _"),
         .flops = flops_of_rows});
}

}  // namespace

void add_microsoft_quantized_product_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "QLinearConv",
         .shape = microsoft_qlinear_conv_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kQuantScale, kZeroPoint, kWeight, kQuantScale, kZeroPoint, kQuantScale, kZeroPoint, kBias},
         .axes = axes_by(qlinear_conv_axes),
         .flops = flops_of_quantized_filters});
  r.add({.domain = kMicrosoft,
         .name = "QGemm",
         .shape = qgemm_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kQuantScale, kZeroPoint, kWeight, kQuantScale, kZeroPoint, kBias, kQuantScale, kZeroPoint},
         .axes = axes_by(qgemm_axes),
         .flops = flops_of_product});
  r.add({.domain = kMicrosoft,
         .name = "MatMulIntegerToFloat",
         .shape = matmul_integer_to_float_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kQuantScale, kQuantScale, kZeroPoint, kZeroPoint, kBias},
         .axes = axes_by("... i k~, ... k~ j, , j, , j, j -> ... i j"),
         .batch = batch_with(batch_integer_product),
         .flops = flops_of_rows,
         .standard = standard_integer_product});
  r.add({.domain = kMicrosoft,
         .name = "MatMulInteger16",
         .shape = matmul_integer16_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight},
         .axes = kProductAxes,
         .batch = batch_with(batch_integer_product),
         .flops = flops_of_rows});
  r.add({.domain = kMicrosoft,
         .name = "DynamicQuantizeMatMul",
         .shape = dynamic_quantize_matmul_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kQuantScale, kZeroPoint, kBias},
         .axes = no_axes(kQuantizesWhole),
         .flops = flops_of_rows});
  r.add({.domain = kMicrosoft,
         .name = "DynamicQuantizeLSTM",
         .shape = dynamic_quantize_lstm_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kWeight, kBias, kCount, kState, kState, kWeight, kQuantScale, kZeroPoint,
                      kQuantScale, kZeroPoint},
         .axes = no_axes(kQuantizesWhole)});
  add_packed_products(r);
}

}  // namespace thaw::ops
