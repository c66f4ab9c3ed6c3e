// What is dequantized and quantized again with the same scale and zero point is what it was: q, since (q - z) · s divided
// by s rounds to q - z. So it is where elements were only moved in between.
#include <algorithm>
#include <cmath>

#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kMoves[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice"};
constexpr size_t kMostMovesBetween = 8;

// The node that moves elements and makes a value that nothing else reads; null for others.
const ir::Node* moving(const Site& s, const ir::Value* value) {
  if (!is_read_once(*value)) return nullptr;
  for (const std::string_view op : kMoves)
    if (const ir::Node* node = s.made_by(value, op)) return node;
  return nullptr;
}

// One scale and zero point for all elements, the same for both.
bool quantize_alike(const Site& s, const ir::Node& first, const ir::Node& second) {
  const auto scale = s.number(second.input(1));
  if (!scale || !(std::abs(*scale) > 1e-30) || !std::isfinite(*scale) || s.number(first.input(1)) != scale)
    return false;
  if (s.fact(first.input(1)).dtype != ir::DataType::kFloat || s.fact(second.input(1)).dtype != ir::DataType::kFloat)
    return false;
  for (const ir::Node* node : {&first, &second})
    for (const int i : {1, 2})
      if (const ir::Tensor* tensor = constant_of(node->input(i)); tensor && tensor->num_elements() != 1) return false;
  const auto zero = [&](const ir::Node& node) { return node.input(2) ? s.number(node.input(2)) : std::optional(0.0); };
  return zero(first) && zero(first) == zero(second);
}

ir::Value* quantized_before(const Site& s) {
  std::vector<const ir::Node*> moves;  // the last first
  const ir::Value* value = s.input(0);
  while (const ir::Node* node = moves.size() < kMostMovesBetween ? moving(s, value) : nullptr) {
    moves.push_back(node);
    value = node->input(0);
  }
  const ir::Node* first = s.made_by(value, "DequantizeLinear");
  if (!first || !quantize_alike(s, *first, s.node())) return nullptr;
  ir::Value* now = first->input(0);
  const ir::DataType type = s.fact(now).dtype;
  if (type != s.out().dtype || (type != ir::DataType::kInt8 && type != ir::DataType::kUint8)) return nullptr;
  for (auto node = moves.rbegin(); node != moves.rend(); ++node) {
    std::vector<ir::Value*> operands((*node)->inputs().begin(), (*node)->inputs().end());
    operands[0] = now;
    now = s.at().emit((*node)->op_type(), std::move(operands),
                      {(*node)->attributes().begin(), (*node)->attributes().end()});
  }
  return now;
}

const Simplification kQuantizing[] = {
    {"quantized as it was", {"QuantizeLinear"}, quantized_before},
};

}  // namespace

std::span<const Simplification> equal_quantization() { return kQuantizing; }

}  // namespace thaw::optimizing
