// Nodes of a graph and of the graphs inside it.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

// Calls each(node), a node before those that it runs.
template <typename Each>
void for_nodes(const ir::Graph& graph, const Each& each) {
  for (const ir::Node* node : graph.nodes()) {
    each(*node);
    for (const ir::Graph* inner : node->subgraphs()) for_nodes(*inner, each);
  }
}

}  // namespace thaw::quantizing
