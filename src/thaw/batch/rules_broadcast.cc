// Batch rules of operators whose axes are counted from the end: elementwise ones and products of matrices.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

std::vector<int64_t> axes_from(int64_t first, int64_t count) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back(first + i);
  return axes;
}

// Whether all operands line up at their first axis, with the batch there.
bool lines_up_merged(NodeBatch& n, int rank) {
  bool any = false;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.original(i)) continue;
    any |= n.is_merged(i);
    if (n.is_batched(i) ? n.rank(i) != rank || !n.can_merge(i) : n.rank(i) == rank && !n.can_merge(i)) return false;
  }
  return any && rank > 0;
}

void batch_clip(NodeBatch& n) {
  if (!n.is_batched(1) && !n.is_batched(2)) return n.keep_on(n.form_of(0));
  // Limits of a sample's own are no operand that Clip takes.
  const int rank = n.rank(0);
  ir::Value* y = n.leading(0);
  if (n.original(1)) y = n.emit("Max", {y, n.aligned(1, rank)});
  if (n.original(2)) y = n.emit("Min", {y, n.aligned(2, rank)});
  n.become(0, y, Form::kLeading);
}

}  // namespace

void batch_elementwise(NodeBatch& n, const ops::Batching&) {
  const std::string& op = n.node().op_type();
  if (op == "CastLike") {
    // The other operand gives a type only.
    return n.is_batched(0) ? n.keep_on(n.form_of(0)) : void();
  }
  if (op == "Clip") return batch_clip(n);
  int rank = 0;
  for (int i = 0; i < n.num_inputs(); ++i)
    if (n.original(i)) rank = std::max(rank, n.rank(i));
  const bool merged = lines_up_merged(n, rank);
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.is_batched(i)) continue;
    if (!merged && rank > n.rank(i)) n.note_change();
    n.set_operand(i, merged ? n.merged(i) : n.aligned(i, rank));
  }
  n.keep(merged ? Form::kMerged : Form::kLeading);
}

namespace {

// What batch_matmul does with the product, before vectors lose their axes.
struct Product {
  int a = 0, b = 1;       // operands that are multiplied
  bool is_plain = false;  // MatMul itself, which takes vectors
};

Product product_of(const ir::Node& node) {
  Product product;
  if (node.op_type() == "QLinearMatMul") product.b = 3;
  product.is_plain = node.op_type() == "MatMul";
  return product;
}

// Operand i is one number for all samples, or for the columns of a matrix that all samples share.
bool is_shared_number(NodeBatch& n, int i, bool of_columns) {
  if (n.is_batched(i)) return false;
  return n.rank(i) == 0 || (n.rank(i) == 1 && (of_columns || n.fact(i).dim(0).is_constant(1)));
}

// MatMulInteger whose zero points are a sample's own: the product without them, less what they take away.
//   (A - a)(B - b) = AB - a * (columns of B - k * b) - b * rows of A
void batch_matmul_integer(NodeBatch& n) {
  const int a = n.rank(0), b = n.rank(1), rank = std::max(a, b);
  for (int i = 2; i < 4; ++i)
    if (n.original(i) && !(n.is_batched(i) ? n.rank(i) == 0 : is_shared_number(n, i, i == 3)))
      NodeBatch::refuse("its zero points are not one number each");
  if (a < 2 || b < 2) NodeBatch::refuse("it multiplies a vector");
  constexpr ir::DataType kInt = ir::DataType::kInt32;
  const auto operand = [&](int i) { return n.is_batched(i) ? n.aligned(i, rank) : n.original(i); };
  ir::Value *left = operand(0), *right = operand(1);
  const auto point = [&](int i) {
    return n.is_batched(i) ? n.unsqueeze(n.cast(n.leading(i), kInt), axes_from(1, rank)) : n.cast(n.original(i), kInt);
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

}  // namespace

void batch_matmul(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  const Product product = product_of(node);
  if (node.op_type() == "MatMulInteger" && (n.is_batched(2) || n.is_batched(3))) return batch_matmul_integer(n);
  for (const char* name : {"transBatchA", "transBatchB"})
    if (node.attribute_int(name, 0) != 0) NodeBatch::refuse("it moves the batch axis");
  for (int i = 1; i < n.num_inputs(); ++i) {
    const bool of_columns = !n.is_batched(product.b) && i > product.b;
    if (i != product.b && n.original(i) && !is_shared_number(n, i, of_columns))
      NodeBatch::refuse(fmt::format("its operand {} is not one number for all samples", i));
  }
  const bool turned = node.attribute_int("transA", 0) != 0 || node.attribute_int("transB", 0) != 0;
  const int a = n.rank(product.a), b = n.rank(product.b);
  const bool a_differs = n.is_batched(product.a), b_differs = n.is_batched(product.b);
  // Rows of a matrix, or matrices whose first axis is the batch, stay.
  const bool rows = n.is_merged(product.a) && !b_differs && a == 2 && b <= 2 && !turned;
  const auto starts = [&](int i, int rank) { return rank == std::max(a, b) && rank >= 3 && n.can_merge(i); };
  const bool stacks = (n.is_merged(product.a) || n.is_merged(product.b)) &&
                      (a_differs ? starts(product.a, a) : a < b || n.can_merge(product.a)) &&
                      (b_differs ? starts(product.b, b) : b < a || n.can_merge(product.b));
  if (rows || stacks) {
    for (int i : {product.a, product.b})
      if (n.is_batched(i)) n.set_operand(i, n.merged(i));
    return n.keep(Form::kMerged);
  }
  if (a_differs && !b_differs && b <= 2 && (product.is_plain || (a >= 2 && b == 2))) {
    n.set_operand(product.a, n.leading(product.a));
    return n.keep(Form::kLeading);
  }
  // Vectors become matrices of one row or column, then all axes line up.
  if (!product.is_plain && (a < 2 || b < 2)) NodeBatch::refuse("it multiplies a vector");
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

void batch_gemm(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  const bool turn_a = node.attribute_int("transA", 0) != 0, turn_b = node.attribute_int("transB", 0) != 0;
  const bool has_c = n.original(2) != nullptr;
  const bool c_fits = !has_c || (!n.is_batched(2) && (n.rank(2) < 2 || n.can_merge(2)));
  if (n.is_merged(0) && !turn_a && !n.is_batched(1) && c_fits) {
    return n.keep_on(Form::kMerged);
  }
  if (node.op_type() != "Gemm") {
    if (turn_a || n.is_batched(1) || !c_fits) NodeBatch::refuse("it does more than multiply, and not by rows");
    return batch_first(n, {.operands = "bs"});
  }
  const auto operand = [&](int i, bool turned) {
    if (!n.is_batched(i)) return turned ? n.transpose(n.original(i), {1, 0}) : n.original(i);
    return turned ? n.transpose(n.leading(i), {0, 2, 1}) : n.leading(i);
  };
  ir::Value* left = operand(0, turn_a);
  ir::Value* right = operand(1, turn_b);
  ir::Value* y = n.emit("MatMul", {left, right});
  const ir::DataType type = n.fact(0).dtype;
  const float alpha = node.attribute_float("alpha", 1.0F), beta = node.attribute_float("beta", 1.0F);
  if (alpha != 1.0F) y = n.emit("Mul", {y, n.scalar(alpha, type)});
  if (has_c) {
    ir::Value* c = n.is_batched(2) ? n.aligned(2, 2) : n.original(2);
    if (beta != 1.0F) c = n.emit("Mul", {c, n.scalar(beta, type)});
    y = n.emit("Add", {y, c});
  }
  n.become(0, y, Form::kLeading);
}

void batch_einsum(NodeBatch& n, const ops::Batching&) {
  std::string equation(n.node().attribute_string("equation", ""));
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  char letter = 0;
  for (char c = 'a'; c <= 'z' && !letter; ++c)
    if (equation.find(c) == std::string::npos) letter = c;
  for (char c = 'A'; c <= 'Z' && !letter; ++c)
    if (equation.find(c) == std::string::npos) letter = c;
  if (!letter) NodeBatch::refuse("its equation uses every letter");
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::string right;
  if (arrow != std::string::npos) {
    right = equation.substr(arrow + 2);
  } else {
    // Implicit: letters that stand once, in alphabetical order, after the ellipsis.
    if (left.find("...") != std::string::npos) right = "...";
    std::string letters;
    for (char c : left)
      if (std::isalpha(static_cast<unsigned char>(c)) && std::count(left.begin(), left.end(), c) == 1) letters += c;
    std::sort(letters.begin(), letters.end());
    right += letters;
  }
  std::string terms;
  int operand = 0;
  for (size_t begin = 0; begin <= left.size(); ++operand) {
    const size_t end = std::min(left.find(',', begin), left.size());
    if (operand > 0) terms += ',';
    if (n.is_batched(operand)) terms += letter;
    terms += left.substr(begin, end - begin);
    begin = end + 1;
  }
  for (int i = 0; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) n.set_operand(i, n.leading(i));
  n.node().set_attribute({"equation", terms + "->" + letter + right});
  n.note_change();
  n.keep(Form::kLeading);
}

}  // namespace thaw::batch
