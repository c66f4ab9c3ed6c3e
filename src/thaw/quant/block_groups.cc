#include "thaw/quant/block_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "thaw/quant/blocks/input_signs.h"
#include "thaw/quant/blocks/weight_nodes.h"

namespace thaw::quantizing {
namespace {

class BlockGrouper {
 public:
  BlockGrouper(const ir::Model& model, const Precisions& precisions) : precisions_(precisions), places_(model) {}

  std::vector<BlockGroup> run(const ir::Graph& graph) {
    add(graph);
    std::erase_if(groups_, [](const BlockGroup& group) { return group.nodes.empty(); });
    const blocks::InputSigns signs(graph);
    for (BlockGroup& group : groups_) {
      std::ranges::stable_partition(group.nodes, [](const ir::Node* node) { return blocks::summed_input(*node); });
      group.has_one_sided_inputs = std::ranges::all_of(group.nodes, [&](const ir::Node* node) {
        const ir::Value* input = blocks::summed_input(*node);
        return input && signs.is_one_sided(input);
      });
    }
    return std::move(groups_);
  }

 private:
  // What nodes of one group have in common: a weight and whether it is read turned, or a value.
  using Shared = std::pair<const ir::Value*, bool>;

  void add(const ir::Graph& graph) {
    for (ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) add(*inner);
      const PrecisionOptions& precision = precisions_.of(*node);
      if (is_blocks(precision.to) && blocks::is_candidate(*node)) add(*node, precision);
    }
  }

  void add(ir::Node& node, const PrecisionOptions& precision) {
    ir::Value* input = blocks::summed_input(node);
    const StoredWeight weight = *blocks::weight_of(node);
    size_t group = joined({weight.value, weight.turned}, precision, groups_.size());
    if (input && precision.blocks.method == BlockMethod::kAwq) group = joined({input, false}, precision, group);
    if (group == groups_.size()) groups_.push_back({.precision = &precision});
    groups_[group].nodes.push_back(&node);
    if (!input || !can_be_measured(*input->graph()) || may_run_often(*input->graph())) return;
    std::vector<ValuePlace>& inputs = groups_[group].inputs;
    const ValuePlace place = places_.of(*input);
    if (std::ranges::find(inputs, place) == inputs.end()) inputs.push_back(place);
  }

  // The group of what is shared, and `other`, as one; the lower number of the two.
  size_t joined(const Shared& shared, const PrecisionOptions& precision, size_t other) {
    std::vector<size_t>& known = by_shared_[shared];
    const auto is_alike = [&](size_t i) {
      return groups_[i].precision->to == precision.to && groups_[i].precision->blocks == precision.blocks;
    };
    const auto at = std::ranges::find_if(known, is_alike);
    if (at == known.end()) {
      known.push_back(other);
      return other;
    }
    const size_t first = std::min(*at, other), second = std::max(*at, other);
    if (first == second || second == groups_.size()) return first;
    BlockGroup moved = std::exchange(groups_[second], {.precision = groups_[second].precision});
    BlockGroup& to = groups_[first];
    to.nodes.insert(to.nodes.end(), moved.nodes.begin(), moved.nodes.end());
    for (ValuePlace& place : moved.inputs)
      if (std::ranges::find(to.inputs, place) == to.inputs.end()) to.inputs.push_back(std::move(place));
    for (auto& [what, numbers] : by_shared_) std::ranges::replace(numbers, second, first);
    return first;
  }

  const Precisions& precisions_;
  ValuePlaces places_;
  std::vector<BlockGroup> groups_;
  std::map<Shared, std::vector<size_t>> by_shared_;  // numbers of groups
};

}  // namespace

std::vector<BlockGroup> block_groups(const ir::Model& model, const Precisions& precisions) {
  return BlockGrouper(model, precisions).run(*model.graph);
}

}  // namespace thaw::quantizing
