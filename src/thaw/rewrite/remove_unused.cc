#include "thaw/rewrite/remove_unused.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace thaw::rewrite {

namespace {

void remove_unused_initializers(ir::Graph& graph) {
  const std::vector<ir::Value*> initializers = graph.initializers();
  for (ir::Value* v : initializers)
    if (!v->is_used() && !v->is_input()) graph.remove_initializer(v);
}

void remove_unused_nodes(ir::Graph& graph) {
  // Backwards: a node's readers, branches among them, come after it, so one sweep takes whole chains.
  std::vector<ir::Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    auto outputs = (*it)->outputs();
    if (std::any_of(outputs.begin(), outputs.end(), [](const ir::Value* v) { return v && v->is_used(); })) {
      for (ir::Graph* inner : (*it)->subgraphs()) {
        remove_unused_nodes(*inner);
        remove_unused_initializers(*inner);
      }
    } else {
      graph.remove_node(*it);
    }
  }
}

}  // namespace

int remove_unused(ir::Model& model) {
  ir::Graph& graph = *model.graph;
  const size_t before = graph.num_nodes();
  remove_unused_nodes(graph);
  remove_unused_initializers(graph);
  return static_cast<int>(before - graph.num_nodes());
}

int remove_unused_domains(ir::Model& model) {
  std::unordered_set<std::string> used{""};
  const std::function<void(const ir::Graph&)> add = [&](const ir::Graph& graph) {
    for (const ir::Node* node : graph.nodes()) {
      used.insert(node->domain());
      for (const ir::Graph* inner : node->subgraphs()) add(*inner);
    }
  };
  add(*model.graph);
  for (const auto& function : model.functions) {
    used.insert(function->domain);
    add(*function->body);
  }
  return static_cast<int>(
      std::erase_if(model.opset_imports, [&](const ir::OpsetImport& import) { return !used.contains(import.domain); }));
}

}  // namespace thaw::rewrite
