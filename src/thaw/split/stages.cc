#include "thaw/split/stages.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "thaw/core/listed_set.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::splitting {
namespace {

constexpr int kNone = -1, kAnyLater = std::numeric_limits<int>::max();

void add_captured(const ir::Graph& inner, const ir::Graph* main, ListedSet<const ir::Value*>& operands) {
  const auto add = [&](const ir::Value* value) {
    if (value && value->graph() == main) operands.insert(value);
  };
  for (const ir::Node* node : inner.nodes()) {
    for (const ir::Value* input : node->inputs()) add(input);
    for (const ir::Graph* deeper : node->subgraphs()) add_captured(*deeper, main, operands);
  }
  for (const ir::Value* output : inner.outputs()) add(output);
}

const ir::Value* first_output(const ir::Node& node) {
  const auto outputs = node.outputs();
  const auto found = std::ranges::find_if(outputs, [](const ir::Value* output) { return output != nullptr; });
  return found == outputs.end() ? nullptr : *found;
}

bool is_deterministic(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  return op ? op->deterministic : !node.inputs().empty();
}

// Integers that are all expressions of sizes.
bool holds_sizes(const ops::Fact& fact) {
  if (!fact.is_tensor() || !fact.elements || (fact.dtype != ir::DataType::kInt64 && fact.dtype != ir::DataType::kInt32))
    return false;
  return std::ranges::all_of(*fact.elements, [](const ops::Element& element) {
    const dim::Dim d = element.as_dim();
    return d.is_known() && !dim::is_data_dependent(d);
  });
}

}  // namespace

std::vector<const ir::Value*> operands_of(const ir::Node& node) {
  ListedSet<const ir::Value*> operands;
  for (const ir::Value* input : node.inputs())
    if (input) operands.insert(input);
  for (const ir::Graph* inner : node.subgraphs()) add_captured(*inner, node.graph(), operands);
  return operands.take();
}

Passings::Passings(const ir::Model& model, const infer::Result& facts) {
  for (const ir::Value* input : model.graph->inputs()) found_[input] = Passing::kTensor;
  for (const ir::Node* node : model.graph->nodes()) {
    const std::vector<const ir::Value*> operands = operands_of(*node);
    const bool from_constants = is_deterministic(*node) && std::ranges::all_of(operands, [&](const ir::Value* operand) {
                                  return of(operand) == Passing::kConstant;
                                });
    for (const ir::Value* output : node->outputs())
      if (output)
        found_[output] = from_constants                    ? Passing::kConstant
                         : holds_sizes(facts.fact(output)) ? Passing::kSize
                                                           : Passing::kTensor;
  }
}

Passing Passings::of(const ir::Value* value) const {
  const auto found = found_.find(value);
  return found == found_.end() ? Passing::kConstant : found->second;  // an initializer
}

bool Passings::is_work(const ir::Node& node) const {
  return std::ranges::any_of(node.outputs(),
                             [&](const ir::Value* output) { return output && of(output) == Passing::kTensor; });
}

Stages::Stages(const ir::Model& model, const Passings& passings, std::span<const Cut> cuts)
    : count_(static_cast<int>(cuts.size()) + 1) {
  const ir::Graph& graph = *model.graph;
  // What a cut's tensors need.
  std::unordered_set<const ir::Value*> ends;
  for (int stage = 0; stage + 1 < count_; ++stage) {
    std::vector<const ir::Node*> open;
    for (const ir::Value* value : cuts[static_cast<size_t>(stage)]) {
      ends.insert(value);
      open.push_back(value->producer());
    }
    while (!open.empty()) {
      const ir::Node* node = open.back();
      open.pop_back();
      if (!node || passings.of(first_output(*node)) == Passing::kConstant || !stages_.emplace(node, stage).second)
        continue;
      for (const ir::Value* operand : operands_of(*node)) open.push_back(operand->producer());
    }
  }
  // The earliest stage in which the others can run: behind a cut whose tensors they read.
  std::unordered_map<const ir::Node*, int> early;
  std::vector<const ir::Node*> others;
  for (const ir::Node* node : graph.nodes()) {
    const bool from_constants = std::ranges::all_of(
        node->outputs(), [&](const ir::Value* output) { return !output || passings.of(output) == Passing::kConstant; });
    if (from_constants || stages_.contains(node)) continue;
    int earliest = 0;
    for (const ir::Value* operand : operands_of(*node)) {
      if (!operand->producer()) continue;
      if (const auto staged = stages_.find(operand->producer()); staged != stages_.end())
        earliest = std::max(earliest, staged->second + (ends.contains(operand) ? 1 : 0));
      else if (const auto other = early.find(operand->producer()); other != early.end())
        earliest = std::max(earliest, other->second);
    }
    early.emplace(node, earliest);
    others.push_back(node);
  }
  // They run where they are needed first; what makes sizes, as soon as it can: it may be computed anew elsewhere.
  std::unordered_map<const ir::Node*, int> needed;
  for (const ir::Node* node : others | std::views::reverse) {
    const auto wanted = needed.find(node);
    const bool makes_sizes = passings.of(first_output(*node)) == Passing::kSize;
    const int stage = makes_sizes || wanted == needed.end() ? early.at(node) : std::max(early.at(node), wanted->second);
    stages_.emplace(node, stage);
    for (const ir::Value* operand : operands_of(*node)) {
      if (!operand->producer()) continue;
      int& at = needed.try_emplace(operand->producer(), kAnyLater).first->second;
      at = std::min(at, stage);
    }
  }
}

int Stages::of(const ir::Node* node) const {
  const auto found = stages_.find(node);
  return found == stages_.end() ? kNone : found->second;
}

}  // namespace thaw::splitting
