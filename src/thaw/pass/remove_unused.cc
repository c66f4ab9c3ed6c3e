#include "thaw/pass/remove_unused.h"

#include <algorithm>
#include <vector>

namespace thaw::pass {

void remove_unused(ir::Model& model) {
  ir::Graph& graph = *model.graph;
  // Backwards: a node's readers come after it, so one sweep takes whole chains.
  std::vector<ir::Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    auto outputs = (*it)->outputs();
    bool used = std::any_of(outputs.begin(), outputs.end(),
                            [](const ir::Value* v) { return v && (v->is_output() || !v->uses().empty()); });
    if (!used) graph.remove_node(*it);
  }
  std::vector<ir::Value*> initializers = graph.initializers();
  for (ir::Value* v : initializers)
    if (v->uses().empty() && !v->is_output() && !v->is_input()) graph.remove_initializer(v);
}

}  // namespace thaw::pass
