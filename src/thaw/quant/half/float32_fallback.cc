#include "thaw/quant/half/float32_fallback.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/small_float.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/half/narrowed.h"

namespace thaw::quantizing {
namespace {

constexpr double kMostBfloat16 = 0x1.FEp127;
// A mask of this still is 0 after a softmax, and four of them can be added.
constexpr double kMask = 16384;
// What was seen may be exceeded by other inputs.
constexpr double kMargin = 4;
constexpr double kSmallestNormal = 0x1p-14;

double most_of(ir::DataType to) { return to == ir::DataType::kFloat16 ? kMostFloat16 : kMostBfloat16; }

bool is_square(const ir::Node& node, const ops::Operator* op) {
  return op && op->is_elementwise() && node.inputs().size() == 2 && node.input(0) == node.input(1);
}

// Queries and keys, whose products a softmax sees: a mask may be one more column of them.
bool makes_scores(const ops::Operator& op, int input) {
  return op.op_class == ops::OpClass::kContraction && op.operands.find(ops::Role::kMask) >= 0 && input <= 1 &&
         op.operands[0] == ops::Role::kData && op.operands[1] == ops::Role::kData;
}

// What Thaw does not know, and what goes into graphs, may do anything with a mask.
bool ends_at(const ir::Node& node, int input) {
  const ops::Operator* op = ops::registry().find(node);
  return !op || op->saturates || op->operands[input] == ops::Role::kMask || op->op_class == ops::OpClass::kControl ||
         makes_scores(*op, input);
}

bool passes(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  return op && (op->is_elementwise() || op->moves_elements() || op->converts);
}

}  // namespace

bool Masks::reach(const ir::Node& node, int input) const { return ends_at(node, input) || leading_.contains(&node); }

bool Masks::leads_on(const ir::Node& node, bool is_main) const {
  for (const ir::Value* value : node.outputs()) {
    if (!value) continue;
    if (value->is_output() && !is_main) return true;
    const auto reaches = [&](const ir::Use& use) { return reach(*use.node, use.index); };
    if (std::ranges::any_of(value->uses(), reaches)) return true;
  }
  return false;
}

void Masks::follow(const ir::Graph& graph, bool is_main) {
  std::vector<const ir::Node*> nodes;
  for (const ir::Node* node : graph.nodes()) nodes.push_back(node);
  for (const ir::Node* node : std::views::reverse(nodes)) {
    for (const ir::Graph* inner : node->subgraphs()) follow(*inner, false);
    if ((passes(*node) || node->inputs().empty()) && leads_on(*node, is_main)) leading_.insert(node);
  }
}

Saturation saturation_at(const ir::Node& node, int input, ir::DataType to) {
  const double most = most_of(to);
  const ops::Operator* op = ops::registry().find(node);
  const bool is_added = op && op->is_elementwise() && op->operands[input] != ops::Role::kSetting;
  return {.lowest = is_added && to == ir::DataType::kFloat16 ? -kMask : -most, .highest = most};
}

const WeightRange& Float32Fallback::range(const ir::Value& constant) {
  const auto [at, fresh] = ranges_.try_emplace(&constant);
  if (fresh) at->second = range_of(*constant.constant(), to_);
  return at->second;
}

bool Float32Fallback::is_mask(const ir::Node& node, int input) {
  return range(*node.input(input)).largest >= kStandsForInfinity && masks_.reach(node, input);
}

std::string Float32Fallback::constant_keeps_wide(const ir::Node& node, int input) {
  const ir::Value& constant = *node.input(input);
  const WeightRange& range = this->range(constant);
  const double largest = range.largest;
  if (range.too_large > 0 && !is_mask(node, input))
    return fmt::format("{} of the {} elements of '{}' exceed {}, up to {:.6g}", range.too_large, range.elements,
                       constant.name(), most_of(to_), largest);
  if (to_ != ir::DataType::kFloat16 || largest == 0 || largest >= kSmallestNormal) return {};
  // All of them lie where steps do not shrink any more.
  const double kept = decode_float(kFloat16Format, encode_float(kFloat16Format, largest));
  constexpr double kMostLost = 0.01;
  if (std::abs(kept - largest) <= kMostLost * largest) return {};
  return fmt::format("'{}' is at most {:.6g}, which becomes {:.6g}", constant.name(), largest, kept);
}

std::string Float32Fallback::seen_keeps_wide(const ir::Node& node, const TypedOperands& operands) const {
  const auto note = [&](const ir::Value* value) -> std::string {
    const auto seen = seen_.find(value);
    if (seen == seen_.end()) return {};
    const double largest = std::max(std::abs(seen->second.lowest), std::abs(seen->second.highest));
    if (largest > kMostFloat16 / kMargin) return fmt::format("'{}' goes up to {:.6g}", value->name(), largest);
    if (largest > 0 && seen->second.mean_magnitude < kSmallestNormal)
      return fmt::format("'{}' has a mean magnitude of {:.6g}", value->name(), seen->second.mean_magnitude);
    return {};
  };
  for (const int i : operands.outputs)
    if (std::string why = note(node.output(i)); !why.empty()) return why;
  for (const int i : operands.inputs)
    if (const ir::Value* value = node.input(i); !value->constant())
      if (std::string why = note(value); !why.empty()) return why;
  return {};
}

std::string Float32Fallback::keeps_wide(const ir::Node& node, const TypedOperands& operands) {
  const ops::Operator* op = ops::registry().find(node);
  if (op && op->noise) return "ONNX Runtime's CPU provider generates random numbers in float32 only";
  for (const int i : operands.inputs)
    if (const ir::Value* value = node.input(i); value->constant() && !value->is_input())
      if (std::string why = constant_keeps_wide(node, i); !why.empty()) return why;
  if (to_ != ir::DataType::kFloat16) return {};
  const bool is_measured = std::ranges::any_of(operands.outputs, [&](int i) { return seen_.contains(node.output(i)); });
  if (is_measured)
    if (std::string why = seen_keeps_wide(node, operands); seen_decides_ || !why.empty()) return why;
  if (op && op->widens) return "its result may overflow float16";
  if (op && op->moves_elements() && node.attribute_string("reduction", "none") != "none")
    return "it accumulates several updates of one element";
  if (is_square(node, op)) return "its squares may overflow float16";
  return {};
}

}  // namespace thaw::quantizing
