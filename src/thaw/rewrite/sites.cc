#include "thaw/rewrite/sites.h"

namespace thaw::rewrite {

std::vector<ir::Graph*> inner_graphs(const ir::Graph& graph) {
  std::vector<ir::Graph*> found;
  const auto add = [&](const ir::Graph& around) {
    for (const ir::Node* node : around.nodes())
      for (ir::Graph* inner : node->subgraphs()) found.push_back(inner);
  };
  add(graph);
  for (size_t i = 0; i < found.size(); ++i) add(*found[i]);
  return found;
}

}  // namespace thaw::rewrite
