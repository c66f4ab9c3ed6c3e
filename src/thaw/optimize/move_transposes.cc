// Transposes moved past what works element by element, towards others that take them back.
#include <algorithm>

#include "thaw/optimize/tables.h"

namespace thaw::optimizing {
namespace {

// Works on each element alone, with one tensor among its operands.
const std::vector<std::string_view> kUnary = {
    "Abs",         "Cast",      "Ceil",      "Clip", "Cos",      "Elu",      "Erf",  "Exp",        "Floor", "Gelu",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Log",  "Mish",     "Neg",      "Not",  "Reciprocal", "Relu",  "Round",
    "Selu",        "Sigmoid",   "Sign",      "Sin",  "Softplus", "Softsign", "Sqrt", "Tanh"};

constexpr size_t kMostBetween = 16;  // operators that a Transpose is moved past at once

std::vector<ir::Value*> with_first(const ir::Node& node, ir::Value* first) {
  std::vector<ir::Value*> operands(node.inputs().begin(), node.inputs().end());
  operands[0] = first;
  return operands;
}

ops::Attributes attributes_of(const ir::Node& node) { return {node.attributes().begin(), node.attributes().end()}; }

std::vector<int64_t> inverse(std::span<const int64_t> permutation) {
  std::vector<int64_t> back(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) back[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return back;
}

bool undo_each_other(const ir::Node& first, const ir::Node& second) {
  const auto a = first.attribute_ints("perm"), b = second.attribute_ints("perm");
  return !a.empty() && a.size() == b.size() && std::ranges::equal(inverse(a), b);
}

bool is_unary(const ir::Node* node) {
  return node && node->domain().empty() && node->outputs().size() == 1 &&
         std::ranges::find(kUnary, node->op_type()) != kUnary.end();
}

// Transpose(f(g(Transpose(x)))) where the second takes the first back: f(g(x)).
ir::Value* transposed_back(const Site& s) {
  std::vector<const ir::Node*> between;  // the last first
  const ir::Value* value = s.input(0);
  for (; is_unary(value->producer()) && between.size() < kMostBetween; value = value->producer()->input(0)) {
    if (!is_read_once(*value)) return nullptr;
    between.push_back(value->producer());
  }
  const ir::Node* first = s.made_by(value, "Transpose");
  if (between.empty() || !first || !undo_each_other(*first, s.node())) return nullptr;
  ir::Value* now = first->input(0);
  for (auto node = between.rbegin(); node != between.rend(); ++node)
    now = s.at().emit((*node)->op_type(), with_first(**node, now), attributes_of(**node));
  return now;
}

// Transpose(f(Transpose(x), Transpose(y))), and with a number in place of one of them.
ir::Value* both_transposed_back(const Site& s) {
  const ir::Value* value = s.input(0);
  const ir::Node* between = value ? value->producer() : nullptr;
  static constexpr std::string_view kBinary[] = {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "And", "Or"};
  if (!between || !between->domain().empty() || std::ranges::find(kBinary, between->op_type()) == std::end(kBinary) ||
      between->inputs().size() != 2 || !s.is_only_reader_of(value))
    return nullptr;
  const auto permutation = s.node().attribute_ints("perm");
  std::vector<ir::Value*> operands;
  int transposed = 0;
  for (ir::Value* operand : between->inputs()) {
    const ir::Node* first = s.made_by(operand, "Transpose");
    if (first && undo_each_other(*first, s.node())) {
      operands.push_back(first->input(0));
      ++transposed;
    } else if (const ir::Tensor* number = constant_of(operand);
               number && number->num_elements() == 1 && number->dims.size() <= permutation.size()) {
      operands.push_back(operand);
    } else {
      return nullptr;
    }
  }
  return transposed > 0 ? s.at().emit(between->op_type(), operands, attributes_of(*between)) : nullptr;
}

// Transpose(Unsqueeze(Transpose(x))): past the Unsqueeze, the two become one.
ir::Value* past_unsqueeze(const Site& s) {
  const ir::Node* between = s.made_by(0, "Unsqueeze");
  const auto permutation = s.node().attribute_ints("perm");
  if (!between || permutation.empty() || !s.is_only_reader_of(s.input(0)) || !s.made_by(between->input(0), "Transpose"))
    return nullptr;
  const auto axes = s.axes(*between, 1, static_cast<int>(permutation.size()));
  if (!axes) return nullptr;
  const auto is_new = [&](int64_t axis) { return std::ranges::find(*axes, axis) != axes->end(); };
  std::vector<int64_t> order, at;  // of what was there, in the result; of the axes of 1, in the result
  for (size_t i = 0; i < permutation.size(); ++i) {
    const int64_t from = permutation[i];
    if (is_new(from)) {
      at.push_back(static_cast<int64_t>(i));
    } else {
      order.push_back(from - std::ranges::count_if(*axes, [&](int64_t axis) { return axis < from; }));
    }
  }
  return s.at().unsqueeze(s.at().transpose(between->input(0), order), at);
}

// Transpose(Squeeze(Transpose(x)))
ir::Value* past_squeeze(const Site& s) {
  const ir::Node* between = s.made_by(0, "Squeeze");
  const auto permutation = s.node().attribute_ints("perm");
  if (!between || permutation.empty() || !s.is_only_reader_of(s.input(0)) || !s.made_by(between->input(0), "Transpose"))
    return nullptr;
  const int rank = s.fact(between->input(0)).rank();
  const auto axes = s.axes(*between, 1, rank);
  if (!axes || rank != static_cast<int>(permutation.size() + axes->size())) return nullptr;
  std::vector<int64_t> kept, order(axes->begin(), axes->end()), gone;  // the axes of 1 first, in their places
  for (int64_t axis = 0; axis < rank; ++axis)
    if (std::ranges::find(*axes, axis) == axes->end()) kept.push_back(axis);
  for (size_t i = 0; i < axes->size(); ++i) gone.push_back(static_cast<int64_t>(i));
  for (const int64_t from : permutation) order.push_back(kept[static_cast<size_t>(from)]);
  return s.at().squeeze(s.at().transpose(between->input(0), order), gone);
}

const Simplification kTable[] = {
    {"cancel Transposes", {"Transpose"}, transposed_back},
    {"cancel Transposes", {"Transpose"}, both_transposed_back},
    {"move a Transpose past an Unsqueeze", {"Transpose"}, past_unsqueeze},
    {"move a Transpose past a Squeeze", {"Transpose"}, past_squeeze},
};

}  // namespace

std::span<const Simplification> moved_transposes() { return kTable; }

}  // namespace thaw::optimizing
