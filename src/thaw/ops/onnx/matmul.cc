// MatMul, Gemm, their quantized forms, Einsum, Det.
#include "thaw/ops/onnx/matmul.h"

#include <string>

#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void require_rank(Context& ctx, int input, int rank, std::string_view what) {
  if (ctx.input(input).has_rank() && ctx.input(input).rank() != rank)
    ctx.invalid(std::string(what) + " needs rank " + std::to_string(rank) + ", not " +
                std::to_string(ctx.input(input).rank()));
}

// Scale or zero point of one operand: a scalar, or one a row (column) of it.
void require_per_axis(Context& ctx, int input, Dim size, At from, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (fact.rank() == 1) ctx.require_broadcast(size, fact.dim(0), what, from, {input, 0});
}

void matmul_rule(Context& ctx) { ctx.set_tensor(0, first_dtype(ctx), matmul_shape(ctx, 0, 1)); }

void matmul_integer_rule(Context& ctx) {
  ctx.set_tensor(0, DataType::kInt32, matmul_shape(ctx, 0, 1));
  const Fact &a = ctx.input(0), &b = ctx.input(1);
  if (a.rank() >= 2)
    require_per_axis(ctx, 2, a.dim(a.rank() - 2), {0, a.rank() - 2}, "zero points of MatMulInteger's rows");
  if (b.rank() >= 2)
    require_per_axis(ctx, 3, b.dim(b.rank() - 1), {1, b.rank() - 1}, "zero points of MatMulInteger's columns");
}

void qlinear_matmul_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(7).dtype, matmul_shape(ctx, 0, 3)); }

void gemm_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  // Before opset 7 C broadcasts only when told to; it has the output's shape otherwise, which broadcasting admits too.
  ctx.set_tensor(0, first_dtype(ctx), gemm_shape(ctx, 0, 1, ctx.has_input(2) ? 2 : -1, ta, tb));
}

void det_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank()) return ctx.set_tensor(0, x.dtype, std::nullopt);
  int rank = x.rank();
  if (rank < 2) {
    ctx.invalid("Det needs matrices, not rank " + std::to_string(rank));
    return ctx.set_tensor(0, x.dtype, std::nullopt);
  }
  ctx.require_equal(x.dim(rank - 2), x.dim(rank - 1), "sides of Det's square matrices", {0, rank - 2}, {0, rank - 1});
  ctx.set_tensor(0, x.dtype, Shape(x.shape->begin(), x.shape->end() - 2));
}

}  // namespace

std::optional<Shape> matmul_shape(Context& ctx, int a, int b, bool transpose_a, bool transpose_b) {
  const Fact &x = ctx.input(a), &y = ctx.input(b);
  if (!x.has_rank() || !y.has_rank()) return std::nullopt;
  if (x.rank() == 0 || y.rank() == 0) {
    ctx.invalid("a matrix product needs operands of rank 1 or more");
    return std::nullopt;
  }
  int rows = x.rank() - 2, inner_x = x.rank() - 1, inner_y = y.rank() == 1 ? 0 : y.rank() - 2, columns = y.rank() - 1;
  if (transpose_a && x.rank() >= 2) std::swap(rows, inner_x);
  if (transpose_b && y.rank() >= 2) std::swap(inner_y, columns);
  ctx.require_equal(x.dim(inner_x), y.dim(inner_y), "inner dims of the matrix product", {a, inner_x}, {b, inner_y});
  Shape batch_x, batch_y;
  if (x.rank() > 2) batch_x.assign(x.shape->begin(), x.shape->end() - 2);
  if (y.rank() > 2) batch_y.assign(y.shape->begin(), y.shape->end() - 2);
  Shape out = broadcast_shapes(ctx, batch_x, batch_y, "batch dims of the matrix product", {a, 0}, {b, 0});
  if (x.rank() >= 2) out.push_back(x.dim(rows));
  if (y.rank() >= 2) out.push_back(y.dim(columns));
  return out;
}

std::optional<Shape> gemm_shape(Context& ctx, int a, int b, int c, bool transpose_a, bool transpose_b) {
  require_rank(ctx, a, 2, "Gemm's A");
  require_rank(ctx, b, 2, "Gemm's B");
  const Fact &x = ctx.input(a), &y = ctx.input(b);
  Shape out(2);
  if (x.rank() == 2) out[0] = x.dim(transpose_a ? 1 : 0);
  if (y.rank() == 2) out[1] = y.dim(transpose_b ? 0 : 1);
  if (x.rank() == 2 && y.rank() == 2) {
    int inner_x = transpose_a ? 0 : 1, inner_y = transpose_b ? 1 : 0;
    ctx.require_equal(x.dim(inner_x), y.dim(inner_y), "Gemm's inner dims", {a, inner_x}, {b, inner_y});
  }
  if (c >= 0) require_broadcasts_to(ctx, c, out, "Gemm's C");
  return out;
}

void add_matmul_ops(Registry& r) {
  const auto add_op = r.group("", OpClass::kContraction);
  add_op("MatMul", matmul_rule);
  add_op("MatMulInteger", matmul_integer_rule);
  add_op("QLinearMatMul", qlinear_matmul_rule);
  add_op("Gemm", gemm_rule);
  add_op("Einsum", einsum_rule);
  add_op("Det", det_rule);
}

}  // namespace thaw::ops
