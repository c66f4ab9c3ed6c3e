// MatMul, Gemm, their quantized forms, Det.
#include "thaw/ops/onnx/matmul.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/cost.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
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

// ONNX Runtime takes one scale and zero point for A and the product, and one or one a column for B.
void qlinear_matmul_rule(Context& ctx) {
  auto shape = matmul_shape(ctx, 0, 3);
  for (int i : {1, 2, 6, 7}) require_axis(ctx, i, 1, 0, 1, "the one scale or zero point of a quantized product");
  const Fact& b = ctx.input(3);
  for (int i : {4, 5})
    if (b.rank() > 0 && ctx.input(i).rank() == 1)
      require_one_or(ctx, ctx.input(i).dim(0), b.shape->back(), "scales or zero points of B's columns", {i, 0});
  ctx.set_tensor(0, ctx.input(7).dtype, std::move(shape));
}

void gemm_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  // Before opset 7 C broadcasts only where an attribute says so; it has the output's shape otherwise, which broadcasting admits too.
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

std::vector<int64_t> axes_from(int64_t first, int64_t count) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back(first + i);
  return axes;
}

// Operand i is one number for all samples, or for the columns of a matrix that all samples share.
bool is_shared_number(BatchContext& n, int i, bool of_columns) {
  if (n.is_batched(i)) return false;
  return n.rank(i) == 0 || (n.rank(i) == 1 && (of_columns || n.input(i).dim(0).is_constant(1)));
}

// MatMulInteger whose zero points are a sample's own: the product without them, less what they take away.
//   (A - a)(B - b) = AB - a * (columns of B - k * b) - b * rows of A
// a is one number, or one for each row of A; b one, or one for each column of B; of more axes, as A and B have them.
void subtract_own_points(BatchContext& n) {
  const int a = n.rank(0), b = n.rank(1), rank = std::max(a, b);
  for (int i = 2; i < 4; ++i)
    if (n.original(i) && !n.is_batched(i) && !is_shared_number(n, i, i == 3))
      BatchContext::refuse("of its zero points some are a sample's own, and the others not one number");
  if (a < 2 || b < 2) BatchContext::refuse("it multiplies a vector");
  constexpr ir::DataType kInt = ir::DataType::kInt32;
  const auto operand = [&](int i) { return n.is_batched(i) ? n.aligned(i, rank) : n.original(i); };
  ir::Value *left = operand(0), *right = operand(1);
  const auto point = [&](int i) {
    if (!n.is_batched(i)) return n.cast(n.original(i), kInt);
    // One for each row stands along the last axis but one.
    ir::Value* own = n.cast(n.leading(i), kInt);
    if (i == 2 && n.rank(i) == 1) own = n.unsqueeze(own, {2});
    const int axes = i == 2 && n.rank(i) == 1 ? 2 : n.rank(i);
    if (axes > rank) BatchContext::refuse("its zero points have more axes than its operands");
    return n.unsqueeze(own, axes_from(1, rank - axes));
  };
  const auto shared = [&](int i) { return n.original(i) && !n.is_batched(i) ? n.original(i) : nullptr; };
  ir::Value* depth = n.cast(n.slice(n.shape(left), -1), kInt);
  ir::Value* y = n.emit("MatMulInteger", {left, right, shared(2), shared(3)});
  if (n.is_batched(2)) {
    ir::Value* columns = n.reduce("ReduceSum", n.cast(right, kInt), {-2}, true);
    if (n.original(3)) columns = n.emit("Sub", {columns, n.emit("Mul", {depth, point(3)})});
    y = n.emit("Sub", {y, n.emit("Mul", {point(2), columns})});
  }
  if (n.is_batched(3)) {
    ir::Value* rows = n.reduce("ReduceSum", n.cast(left, kInt), {-1}, true);
    if (shared(2)) rows = n.emit("Sub", {rows, n.emit("Mul", {depth, point(2)})});
    y = n.emit("Sub", {y, n.emit("Mul", {point(3), rows})});
  }
  n.become(0, y, Form::kLeading);
}

void batch_matmul(BatchContext& n) { batch_product(n, {.takes_vectors = true}); }
void batch_matmul_integer(BatchContext& n) {
  if (n.is_batched(2) || n.is_batched(3)) return subtract_own_points(n);
  batch_product(n, {});
}
void batch_qlinear_matmul(BatchContext& n) { batch_product(n, {.b = 3}); }
void batch_plain_gemm(BatchContext& n) { batch_gemm(n, false); }

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

void batch_product(BatchContext& n, const Product& product) {
  const ir::Node& node = n.node();
  for (const char* name : {"transBatchA", "transBatchB"})
    if (node.attribute_int(name, 0) != 0) BatchContext::refuse("it moves the batch axis");
  for (int i = 1; i < n.num_inputs(); ++i) {
    const bool of_columns = !n.is_batched(product.b) && i > product.b;
    if (i != product.b && n.original(i) && !is_shared_number(n, i, of_columns))
      BatchContext::refuse(fmt::format("its operand {} is not one number for all samples", i));
  }
  const bool transposed = node.attribute_int("transA", 0) != 0 || node.attribute_int("transB", 0) != 0;
  const int a = n.rank(product.a), b = n.rank(product.b);
  const bool a_differs = n.is_batched(product.a), b_differs = n.is_batched(product.b);
  // Rows of a matrix, or matrices whose first axis is the batch, stay.
  const bool rows = n.is_merged(product.a) && !b_differs && a == 2 && b <= 2 && !transposed;
  const auto starts = [&](int i, int rank) { return rank == std::max(a, b) && rank >= 3 && n.can_merge(i); };
  const bool stacks = (n.is_merged(product.a) || n.is_merged(product.b)) &&
                      (a_differs ? starts(product.a, a) : a < b || n.can_merge(product.a)) &&
                      (b_differs ? starts(product.b, b) : b < a || n.can_merge(product.b));
  if (rows || stacks) {
    for (int i : {product.a, product.b})
      if (n.is_batched(i)) n.set_operand(i, n.merged(i));
    return n.keep(Form::kMerged);
  }
  if (a_differs && !b_differs && b <= 2 && (product.takes_vectors || (a >= 2 && b == 2))) {
    n.set_operand(product.a, n.leading(product.a));
    return n.keep(Form::kLeading);
  }
  // Vectors become matrices of one row or column, then all axes line up.
  if (!product.takes_vectors && (a < 2 || b < 2)) BatchContext::refuse("it multiplies a vector");
  const auto matrix = [&](int i, int rank, int64_t new_axis) {
    ir::Value* value = n.is_batched(i) ? n.leading(i) : n.original(i);
    return rank == 1 ? n.unsqueeze(value, {n.is_batched(i) ? new_axis + 1 : new_axis}) : value;
  };
  ir::Value *left = matrix(product.a, a, 0), *right = matrix(product.b, b, 1);
  const int rank_a = std::max(a, 2), rank_b = std::max(b, 2), rank = std::max(rank_a, rank_b);
  if (a_differs) left = n.unsqueeze(left, axes_from(1, rank - rank_a));
  if (b_differs) right = n.unsqueeze(right, axes_from(1, rank - rank_b));
  n.set_operand(product.a, left);
  n.set_operand(product.b, right);
  n.note_change();
  std::vector<int64_t> gone;
  if (a == 1) gone.push_back(rank - 1);
  if (b == 1) gone.push_back(rank);
  if (gone.empty()) return n.keep(Form::kLeading);
  n.become(0, n.after().squeeze(node.output(0), gone), Form::kLeading);
}

void batch_gemm(BatchContext& n, bool does_more) {
  const ir::Node& node = n.node();
  const bool turn_a = node.attribute_int("transA", 0) != 0, turn_b = node.attribute_int("transB", 0) != 0;
  const bool has_c = n.original(2) != nullptr;
  const bool c_fits = !has_c || (!n.is_batched(2) && (n.rank(2) < 2 || n.can_merge(2)));
  if (n.is_merged(0) && !turn_a && !n.is_batched(1) && c_fits) {
    return n.keep_on(Form::kMerged);
  }
  if (does_more) {
    if (turn_a || n.is_batched(1) || !c_fits) BatchContext::refuse("it does more than multiply, and not by rows");
    return batch_by_axes(n);
  }
  const auto operand = [&](int i, bool transposed) {
    if (!n.is_batched(i)) return transposed ? n.transpose(n.original(i), {1, 0}) : n.original(i);
    return transposed ? n.transpose(n.leading(i), {0, 2, 1}) : n.leading(i);
  };
  ir::Value* left = operand(0, turn_a);
  ir::Value* right = operand(1, turn_b);
  ir::Value* y = n.emit("MatMul", {left, right});
  const ir::DataType type = n.input(0).dtype;
  const float alpha = node.attribute_float("alpha", 1.0F), beta = node.attribute_float("beta", 1.0F);
  if (alpha != 1.0F) y = n.emit("Mul", {y, n.scalar(alpha, type)});
  if (has_c) {
    ir::Value* c = n.is_batched(2) ? n.aligned(2, 2) : n.original(2);
    if (beta != 1.0F) c = n.emit("Mul", {c, n.scalar(beta, type)});
    y = n.emit("Add", {y, c});
  }
  n.become(0, y, Form::kLeading);
}

std::optional<AxesMap> gemm_axes(NodeView& view) {
  constexpr std::string_view kPatterns[2][2] = {{"i k, k j, [i] j -> i j", "i k, j k, [i] j -> i j"},
                                                {"k i, k j, [i] j -> i j", "k i, j k, [i] j -> i j"}};
  return match_axes(kPatterns[view.attr_int("transA", 0) != 0][view.attr_int("transB", 0) != 0], view);
}

void add_matmul_ops(Registry& r) {
  using enum Role;
  r.add({.name = "MatMul",
         .shape = matmul_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight},
         .axes = kProductAxes,
         .batch = batch_with(batch_matmul),
         .flops = flops_of_rows,
         .magnitude = magnitude_of_layer});
  r.add({.name = "MatMulInteger",
         .shape = matmul_integer_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kZeroPoint, kZeroPoint},
         .axes = axes_by("... i k, ... k j, i, j -> ... i j"),
         .batch = batch_with(batch_matmul_integer),
         .flops = flops_of_rows});
  r.add({.name = "QLinearMatMul",
         .shape = qlinear_matmul_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kQuantScale, kZeroPoint, kWeight, kQuantScale, kZeroPoint, kQuantScale, kZeroPoint},
         .axes = axes_by("... i k, i, i, ... k j, j, j, , -> ... i j"),
         .batch = batch_with(batch_qlinear_matmul),
         .flops = flops_of_rows});
  r.add({.name = "Gemm",
         .shape = gemm_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias},
         .axes = axes_by(gemm_axes),
         .batch = batch_with(batch_plain_gemm),
         .flops = flops_of_product,
         .magnitude = magnitude_of_layer});
  r.add({.name = "Det",
         .shape = det_rule,
         .op_class = OpClass::kContraction,
         .axes = axes_by("... i~ j~ -> ..."),
         .widens = true});
}

}  // namespace thaw::ops
