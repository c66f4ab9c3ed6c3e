// How large the values of a graph may be, followed from its inputs.
#pragma once

#include <unordered_map>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/magnitude.h"

namespace thaw::ops {

class MagnitudeMap {
 public:
  // What a node makes; null where no node does, and what is there is ordinary.
  const Magnitude* find(const ir::Value* value) const {
    const auto found = made_.find(value);
    return found == made_.end() ? nullptr : &found->second;
  }
  Magnitude of(const ir::Value* value) const {
    const Magnitude* made = find(value);
    return made ? *made : Magnitude::ordinary();
  }

  // Of the graph's nodes in order, those inside a node before it; context_of(node) is what a rule is given.
  template <typename ContextOf>
  void follow(const ir::Graph& graph, const ContextOf& context_of) {
    for (const ir::Node* node : graph.nodes()) {
      if (node->constant()) continue;
      for (const ir::Graph* inner : node->subgraphs()) follow(*inner, context_of);
      auto context = context_of(*node);
      const Magnitude made = magnitude_of(context);
      for (const ir::Value* value : node->outputs())
        if (value) made_.emplace(value, made);
    }
  }

 private:
  std::unordered_map<const ir::Value*, Magnitude> made_;
};

}  // namespace thaw::ops
