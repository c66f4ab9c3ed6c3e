#include "thaw/rewrite/sites.h"

namespace thaw::rewrite {

std::vector<ir::Graph*> all_graphs(ir::Graph& main) {
  std::vector<ir::Graph*> found{&main};
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]->num_nodes() == found[i]->nodes().size()) continue;  // which tells it without a walk
    for (const ir::Node* node : found[i]->nodes())
      for (ir::Graph* inner : node->subgraphs()) found.push_back(inner);
  }
  return found;
}

}  // namespace thaw::rewrite
