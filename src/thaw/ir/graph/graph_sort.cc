// Topological order: nodes after what they, and the subgraphs in them, read.
#include <functional>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::ir {

// Names a cycle: going backward from any node that waits for another leads into one.
std::string Graph::Editor::cycle_text(const Node* node, const std::vector<Node*>& before) {
  std::vector<bool> seen(before.size());
  while (!seen[node->order_]) {
    seen[node->order_] = true;
    node = before[node->order_];
  }
  constexpr int kShown = 4;
  std::string text = node->describe();
  int shown = 1;
  for (const Node* at = before[node->order_]; at != node; at = before[at->order_]) {
    if (++shown > kShown) return text + ", …";
    text += ", " + at->describe();
  }
  return text;
}

const Node* Graph::Editor::first_out_of_order(const Graph& graph) {
  std::unordered_map<const Node*, size_t> place;
  place.reserve(graph.node_count_);
  for (const Node* node : graph.nodes()) place.emplace(node, place.size());
  for (const Node* node : graph.nodes()) {
    for (const Value* output : node->outputs_) {
      if (!output) continue;
      for (const Use& use : output->uses()) {
        const Node* reader = ancestor_in(graph, use.node);
        if (reader && place.at(reader) <= place.at(node)) return reader;
      }
    }
  }
  return nullptr;
}

void Graph::sort_topologically() {
  std::vector<Node*> all;
  all.reserve(node_count_);
  for (Node* node : nodes()) {
    node->order_ = static_cast<uint32_t>(all.size());
    all.push_back(node);
  }

  // Calls visit(reader) for each read of what `node` makes, by a node of this graph or a subgraph in one.
  const auto for_each_reader = [&](Node* node, auto&& visit) {
    for (Value* output : node->outputs_) {
      if (!output) continue;
      for (const Use& use : output->uses()) {
        if (Node* reader = Editor::ancestor_in(*this, use.node)) visit(reader);
      }
      if (output->returned_count_ > 0) {
        for (const Graph* graph : storage_->returned_by[output]) {
          if (Node* reader = Editor::ancestor_in(*this, graph->parent_node_)) visit(reader);
        }
      }
    }
  };

  bool sorted = true;
  std::vector<uint32_t> waits_for(all.size());
  for (Node* node : all) {
    for_each_reader(node, [&](const Node* reader) {
      ++waits_for[reader->order_];
      if (reader->order_ <= node->order_) sorted = false;
    });
  }
  if (sorted) return;

  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<Node*> result;
  result.reserve(all.size());
  while (!ready.empty()) {
    Node* node = all[ready.top()];
    ready.pop();
    result.push_back(node);
    for_each_reader(node, [&](const Node* reader) {
      if (--waits_for[reader->order_] == 0) ready.push(reader->order_);
    });
  }
  if (result.size() != all.size()) {
    std::vector<Node*> before(all.size());
    Node* left = nullptr;
    for (Node* node : all) {
      if (waits_for[node->order_] == 0) continue;
      left = node;
      for_each_reader(node, [&](const Node* reader) { before[reader->order_] = node; });
    }
    throw Error(ErrorCode::kInvalidFile, {.what = "the graph has a cycle through " + Editor::cycle_text(left, before),
                                          .where = name.empty() ? "" : fmt::format("graph '{}'", name),
                                          .expected = "nodes that depend on earlier ones only",
                                          .next = "export the model again"});
  }
  if (Transaction* edit = Editor::transaction(*this))
    edit->record([this, before = all] { Editor::set_order(*this, before); });
  Editor::set_order(*this, result);
}

void Graph::Editor::set_order(Graph& graph, const std::vector<Node*>& nodes) {
  Node* previous = nullptr;
  graph.first_node_ = nullptr;
  for (Node* node : nodes) {
    node->previous_ = previous;
    (previous ? previous->next_ : graph.first_node_) = node;
    previous = node;
  }
  graph.last_node_ = previous;
  if (previous) previous->next_ = nullptr;
  number_nodes(graph);
}

}  // namespace thaw::ir
