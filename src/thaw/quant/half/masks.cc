#include "thaw/quant/half/masks.h"

#include <algorithm>
#include <ranges>
#include <vector>

#include "thaw/ops/rule/registry.h"

namespace thaw::quantizing {
namespace {

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

}  // namespace thaw::quantizing
