#include "thaw/quant/attention_projections.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "thaw/ops/rule/registry.h"
#include "thaw/quant/blocks/weight_readers.h"

namespace thaw::quantizing {
namespace {

// Between a projection and the attention lie reshapes, norms, rotations: not more.
constexpr size_t kMostBetween = 48;

bool contracts(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  return op && op->op_class == ops::OpClass::kContraction;
}

bool is_projection(const ir::Node& node) { return blocks::summed_input(node) != nullptr; }

struct Reached {
  std::vector<const ir::Node*> projections, attentions;
};

// What the node reads, up to the contractions that make it.
Reached reach(const ir::Node& attention) {
  Reached found;
  std::unordered_set<const ir::Node*> seen;
  std::vector<const ir::Node*> open;
  const auto add_operands = [&](const ir::Node& node) {
    for (const ir::Value* input : node.inputs())
      if (input && input->producer() && seen.insert(input->producer()).second) open.push_back(input->producer());
  };
  add_operands(attention);
  while (!open.empty() && seen.size() <= kMostBetween) {
    const ir::Node* node = open.back();
    open.pop_back();
    if (is_projection(*node)) {
      found.projections.push_back(node);
    } else if (contracts(*node)) {
      found.attentions.push_back(node);
    } else {
      add_operands(*node);
    }
  }
  return found;
}

}  // namespace

std::vector<std::vector<const ir::Node*>> attention_projections(const ir::Model& model) {
  // An attention's first product stands for both.
  std::unordered_map<const ir::Node*, const ir::Node*> stands_for;
  std::map<std::pair<size_t, const ir::Value*>, size_t> groups;
  std::vector<std::vector<const ir::Node*>> found;
  std::unordered_map<const ir::Node*, size_t> numbers;
  std::unordered_set<const ir::Node*> grouped;
  for (const ir::Node* node : model.graph->nodes()) {
    if (!contracts(*node) || is_projection(*node)) continue;
    const Reached reached = reach(*node);
    const ir::Node* first = node;
    if (reached.attentions.size() == 1)
      if (const auto known = stands_for.find(reached.attentions.front()); known != stands_for.end())
        first = known->second;
    stands_for[node] = first;
    const size_t number = numbers.try_emplace(first, numbers.size()).first->second;
    for (const ir::Node* projection : reached.projections)
      if (grouped.insert(projection).second) {
        const auto [group, is_new] = groups.try_emplace({number, blocks::summed_input(*projection)}, found.size());
        if (is_new) found.emplace_back();
        found[group->second].push_back(projection);
      }
  }
  std::erase_if(found, [](const auto& nodes) { return nodes.size() < 2; });
  for (std::vector<const ir::Node*>& nodes : found)
    std::ranges::sort(nodes, {}, [](const ir::Node* node) { return ir::Graph::position_of(node); });
  return found;
}

}  // namespace thaw::quantizing
