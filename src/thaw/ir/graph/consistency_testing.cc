#include "thaw/ir/graph/consistency_testing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace thaw::ir {
namespace {

using Reads = std::map<const Value*, std::multiset<std::pair<const Node*, int>>>;

class Walk {
 public:
  std::string run(const Graph& graph) {
    visit(graph);
    for (const auto& [value, reads] : reads_) {
      std::multiset<std::pair<const Node*, int>> uses;
      for (const Use& use : value->uses()) uses.emplace(use.node, use.index);
      expect(uses == reads, "uses of " + value->name());
    }
    return found_;
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds && found_.empty()) found_ = what;
  }

  void visit(const Graph& graph) {
    size_t count = 0;
    const Node* previous = nullptr;
    for (const Node* node : graph.nodes()) {
      expect(graph.previous(node) == previous, "previous of " + node->describe());
      previous = node;
      ++count;
      visit_node(graph, *node);
    }
    expect(count == graph.nodes().size(), "number of nodes");
    expect(graph.nodes().back() == previous, "last node");
    for (const Value* value : graph.inputs()) {
      expect(value->is_input(), "is_input of " + value->name());
      visit_value(graph, value);
    }
    for (const Value* value : graph.initializers()) {
      expect(value->initializer() && value->initializer()->name == value->name(), "initializer " + value->name());
      visit_value(graph, value);
    }
    for (const Value* value : graph.outputs()) {
      expect(value->is_used(), "is_used of output " + value->name());
      expect(value->graph() != &graph || value->is_output(), "is_output of " + value->name());
      expect(graph.find_visible(value->name()) == value, "name of output " + value->name());
    }
  }

  void visit_value(const Graph& graph, const Value* value) {
    expect(value->graph() == &graph, "graph of " + value->name());
    expect(graph.find(value->name()) == value, "name of " + value->name());
    reads_[value];  // its uses are counted even if there are none
  }

  void visit_node(const Graph& graph, const Node& node) {
    expect(node.graph() == &graph, "graph of " + node.describe());
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* value = node.outputs()[i];
      if (!value) continue;
      expect(value->producer() == &node && value->producer_index() == static_cast<int>(i),
             "producer of " + value->name());
      visit_value(graph, value);
    }
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* value = node.inputs()[i];
      if (!value) continue;
      expect(graph.find_visible(value->name()) == value, "name of input " + value->name());
      reads_[value].emplace(&node, static_cast<int>(i));
    }
    for (const Graph* subgraph : node.subgraphs()) {
      expect(subgraph->parent() == &graph && subgraph->parent_node() == &node, "parent of " + subgraph->name);
      visit(*subgraph);
    }
  }

  Reads reads_;
  std::string found_;
};

}  // namespace

std::string inconsistency(const Graph& graph) { return Walk().run(graph); }

}  // namespace thaw::ir
