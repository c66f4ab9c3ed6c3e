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

// Operand i with the batch first and the sample's axes aligned to the right of `rank` of them.
ir::Value* aligned(NodeBatch& n, int i, int rank) { return n.unsqueeze(n.leading(i), axes_from(1, rank - n.rank(i))); }

}  // namespace

void batch_elementwise(NodeBatch& n, const ops::Batching&) {
  const std::string& op = n.node().op_type();
  if (op == "CastLike" && !n.is_batched(0)) return;  // the other operand gives a type only
  const bool first_only = op == "Clip" || op == "Dropout" || op == "CastLike";
  int rank = 0;
  for (int i = 0; i < (first_only ? 1 : n.num_inputs()); ++i)
    if (n.original(i)) rank = std::max(rank, n.rank(i));
  if (first_only) {
    for (int i = 1; i < n.num_inputs() && op != "CastLike"; ++i)
      if (n.is_batched(i)) NodeBatch::refuse("its limits differ from sample to sample");
    return n.keep_on(n.form_of(0));
  }
  const bool merged = lines_up_merged(n, rank);
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.is_batched(i)) continue;
    if (!merged && rank > n.rank(i)) n.note_change();
    n.set_operand(i, merged ? n.merged(i) : aligned(n, i, rank));
  }
  n.keep(merged ? Form::kMerged : Form::kLeading);
}

void batch_matmul(NodeBatch& n, const ops::Batching&) {
  for (int i = 2; i < n.num_inputs(); ++i)
    if (n.is_batched(i) || (n.original(i) && n.rank(i) > 0))
      NodeBatch::refuse("its zero points are not one number each");
  const int a = n.rank(0), b = n.rank(1);
  const bool both = n.is_batched(0) && n.is_batched(1);
  // Rows of a matrix, or matrices whose first axis is the batch, stay.
  const bool rows = n.is_merged(0) && !n.is_batched(1) && a == 2 && b <= 2;
  const auto starts = [&](int i, int rank) { return rank == std::max(a, b) && rank >= 3 && n.can_merge(i); };
  const bool stacks = (n.is_merged(0) || n.is_merged(1)) &&
                      (n.is_batched(0) ? starts(0, a) : a < b || n.can_merge(0)) &&
                      (n.is_batched(1) ? starts(1, b) : b < a || n.can_merge(1));
  if (rows || stacks) {
    for (int i = 0; i < 2; ++i)
      if (n.is_batched(i)) n.set_operand(i, n.merged(i));
    return n.keep(Form::kMerged);
  }
  if (n.is_batched(0) && !both && b <= 2) {
    n.set_operand(0, n.leading(0));
    return n.keep(Form::kLeading);
  }
  // Vectors become matrices of one row or column, then all axes line up.
  const auto matrix = [&](int i, int rank, int64_t new_axis) {
    ir::Value* value = n.is_batched(i) ? n.leading(i) : n.original(i);
    return rank == 1 ? n.unsqueeze(value, {n.is_batched(i) ? new_axis + 1 : new_axis}) : value;
  };
  ir::Value *left = matrix(0, a, 0), *right = matrix(1, b, 1);
  const int rank_a = std::max(a, 2), rank_b = std::max(b, 2), rank = std::max(rank_a, rank_b);
  if (n.is_batched(0)) left = n.unsqueeze(left, axes_from(1, rank - rank_a));
  if (n.is_batched(1)) right = n.unsqueeze(right, axes_from(1, rank - rank_b));
  std::vector<ir::Value*> operands{left, right};
  for (int i = 2; i < n.num_inputs(); ++i) operands.push_back(n.original(i));
  ir::Value* product = n.emit(n.node().op_type(), operands);
  std::vector<int64_t> gone;
  if (a == 1) gone.push_back(rank - 1);
  if (b == 1) gone.push_back(rank);
  n.become(0, n.squeeze(product, gone), Form::kLeading);
}

void batch_gemm(NodeBatch& n, const ops::Batching&) {
  ir::Node& node = n.node();
  const bool turn_a = node.attribute_int("transA", 0) != 0, turn_b = node.attribute_int("transB", 0) != 0;
  const bool has_c = n.original(2) != nullptr;
  const bool c_fits = !has_c || (!n.is_batched(2) && (n.rank(2) < 2 || n.can_merge(2)));
  if (n.is_merged(0) && !turn_a && !n.is_batched(1) && c_fits) {
    return n.keep_on(Form::kMerged);
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
    ir::Value* c = n.is_batched(2) ? aligned(n, 2, 2) : n.original(2);
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
