// The links that editing keeps in step: nodes in their list, values in theirs, uses, subgraphs and their captures.
#include <algorithm>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::ir {

namespace {
constexpr uint64_t kOrderStep = uint64_t{1} << 32;  // room for 32 insertions at one position
}

void Graph::Editor::refuse(const std::string& what, const std::string& where, const std::string& next) {
  throw Error(ErrorCode::kInternal,
              {.what = what, .where = where.empty() ? "" : "graph '" + where + "'", .next = next});
}

Value* Graph::Editor::make_value(Graph& graph, std::string name) {
  Value* value = graph.storage_->values.make();
  value->name_ = std::move(name);
  value->graph_ = &graph;
  return value;
}

Node* Graph::Editor::make_node(Graph& graph, Node* before) {
  Node* node = graph.storage_->nodes.make();
  node->graph_ = &graph;
  put_in(graph, node, before);
  return node;
}

Transaction* Graph::Editor::transaction(const Graph& graph) {
  const Graph* root = &graph;
  while (root->parent_) root = root->parent_;
  return root->storage_->transaction;
}

void Graph::Editor::retire(Graph& graph, Value* value) {
  Pool<Value>& values = graph.storage_->values;
  if (Transaction* edit = transaction(graph))
    edit->release_.push_back([&values, value] { values.retire(value); });
  else
    values.retire(value);
}

void Graph::Editor::retire(Graph& graph, Tensor* tensor) {
  Pool<Tensor>& tensors = graph.storage_->tensors;
  if (Transaction* edit = transaction(graph))
    edit->release_.push_back([&tensors, tensor] { tensors.retire(tensor); });
  else
    tensors.retire(tensor);
}

void Graph::Editor::take_out(Graph& graph, Node* node) {
  (node->previous_ ? node->previous_->next_ : graph.first_node_) = node->next_;
  (node->next_ ? node->next_->previous_ : graph.last_node_) = node->previous_;
  --graph.node_count_;
  // next_ stays as it was: a walk that stands on the node follows it.
}

void Graph::Editor::put_in(Graph& graph, Node* node, Node* before) {
  node->next_ = before;
  node->previous_ = before ? before->previous_ : graph.last_node_;
  (node->previous_ ? node->previous_->next_ : graph.first_node_) = node;
  (before ? before->previous_ : graph.last_node_) = node;
  ++graph.node_count_;
  const uint64_t low = node->previous_ ? node->previous_->position_ : 0;
  const uint64_t high = before ? before->position_ : low + 2 * kOrderStep;
  node->position_ = low + (high - low) / 2;
  if (node->position_ == low) number_nodes(graph);
}

void Graph::Editor::number_nodes(Graph& graph) {
  uint64_t place = 0;
  for (Node* node = graph.first_node_; node; node = node->next_) node->position_ = place += kOrderStep;
}

void Graph::Editor::drop_value(Graph& graph, Value* value) {
  Storage& storage = *graph.storage_;
  if (value->value_info_slot_ >= 0 || !storage.shadows_of.empty()) graph.clear_value_info(value);
  if (Transaction* edit = transaction(graph)) {
    edit->record([&storage, value] {
      storage.names.insert(value);
      if (value->initializer_) storage.initializers.add(value);
      if (value->sparse_initializer_) storage.sparse_initializers.add(value);
    });
  }
  if (value->initializer_) {
    storage.initializers.remove(value);
    retire(graph, value->initializer_);
  } else if (value->sparse_initializer_) {
    storage.sparse_initializers.remove(value);
  }
  storage.names.erase(value);
  retire(graph, value);
}

void Graph::Editor::mark_output(Graph& graph, Value* value) {
  if (value->graph_ == &graph) {
    ++value->output_count_;
  } else {
    ++value->returned_count_;
    value->graph_->storage_->returned_by[value].push_back(&graph);
  }
}

void Graph::Editor::unmark_output(Graph& graph, Value* value) {
  if (value->graph_ == &graph) {
    --value->output_count_;
    return;
  }
  auto& returned_by = value->graph_->storage_->returned_by;
  const auto found = returned_by.find(value);
  if (found == returned_by.end()) return;
  std::vector<Graph*>& graphs = found->second;
  const auto place = std::find(graphs.begin(), graphs.end(), &graph);
  if (place == graphs.end()) return;
  *place = graphs.back();
  graphs.pop_back();
  --value->returned_count_;
  if (graphs.empty()) returned_by.erase(found);
}

void Graph::Editor::note_name(Graph& graph, const std::string& name) {
  Graph* root = &graph;
  while (root->parent_) root = root->parent_;
  if (root->storage_->registry) root->storage_->registry->taken.insert(name);
}

void Graph::Editor::collect_names(const Graph& graph, NameRegistry& registry) {
  graph.storage_->names.for_each([&](const Value* value) { registry.taken.insert(value->name_); });
  for (const Node* node : graph.storage_->with_subgraphs) {
    for (const Graph* subgraph : node->subgraphs()) {
      if (subgraph->parent_node_ == node) collect_names(*subgraph, registry);
    }
  }
}

bool Graph::Editor::is_within(const Graph* graph, const Graph& outer) {
  while (graph && graph != &outer) graph = graph->parent_;
  return graph != nullptr;
}

Node* Graph::Editor::ancestor_in(const Graph& graph, Node* node) {
  while (node && node->graph_ != &graph) node = node->graph_->parent_node_;
  return node;
}

void Graph::Editor::attach(Node* node, const Attribute& attribute) {
  for_each_graph(attribute, [&](Graph& graph) { attach(node, graph); });
}

void Graph::Editor::detach(Node* node, const Attribute& attribute) {
  for_each_graph(attribute, [&](Graph& graph) { detach(node, graph); });
}

void Graph::Editor::attach(Node* node, Graph& graph) {
  if (graph.parent_node_ == node) return;
  graph.parent_ = node->graph_;
  graph.parent_node_ = node;
  link_foreign(graph);
  Graph* root = node->graph_;
  while (root->parent_) root = root->parent_;
  if (root->storage_->registry) collect_names(graph, *root->storage_->registry);
}

void Graph::Editor::detach(Node* node, Graph& graph) {
  if (graph.parent_node_ != node) return;  // it has become another node's
  unlink_foreign(graph, graph);
  graph.parent_ = nullptr;
  graph.parent_node_ = nullptr;
}

void Graph::Editor::unlink_foreign(Graph& graph, const Graph& root) {
  if (graph.storage_->foreign_links > 0) {
    for (Node* node : graph.nodes()) {
      for (size_t i = 0; i < node->inputs_.size(); ++i) {
        if (node->inputs_[i] && !is_within(node->inputs_[i]->graph_, root)) node->unlink(static_cast<int>(i));
      }
    }
  }
  for (size_t i = 0; i < graph.outputs_.size(); ++i) {
    if (is_within(graph.outputs_[i]->graph_, root)) continue;
    Declaration* declaration = graph.storage_->output_declarations[i].get();
    if (declaration->unlinked) continue;
    unmark_output(graph, graph.outputs_[i]);
    declaration->unlinked = true;
  }
  for (Node* node : graph.storage_->with_subgraphs) {
    for (Graph* subgraph : node->subgraphs()) {
      if (subgraph->parent_node_ == node) unlink_foreign(*subgraph, root);
    }
  }
}

void Graph::Editor::link_foreign(Graph& graph) {
  for (Node* node : graph.nodes()) {
    for (size_t i = 0; i < node->inputs_.size(); ++i) {
      if (node->inputs_[i] && node->use_slots_[i] == Node::kNoSlot) node->link(static_cast<int>(i));
    }
  }
  for (size_t i = 0; i < graph.outputs_.size(); ++i) {
    Declaration* declaration = graph.storage_->output_declarations[i].get();
    if (!declaration || !declaration->unlinked) continue;
    mark_output(graph, graph.outputs_[i]);
    declaration->unlinked = false;
  }
  for (Node* node : graph.storage_->with_subgraphs) {
    for (Graph* subgraph : node->subgraphs()) {
      if (subgraph->parent_node_ == node) link_foreign(*subgraph);
    }
  }
}

void Node::link(int i) {
  Value* value = inputs_[static_cast<size_t>(i)];
  if (!value) return;
  use_slots_[static_cast<size_t>(i)] = static_cast<uint32_t>(value->uses_.size());
  value->uses_.push_back({this, i});
  if (value->graph_ != graph_) ++graph_->storage_->foreign_links;
}

void Node::unlink(int i) {
  Value* value = inputs_[static_cast<size_t>(i)];
  uint32_t& slot = use_slots_[static_cast<size_t>(i)];
  if (!value || slot == kNoSlot) return;
  // The last use takes the freed position.
  const Use moved = value->uses_.back();
  value->uses_[slot] = moved;
  value->uses_.pop_back();
  moved.node->use_slots_[static_cast<size_t>(moved.index)] = slot;
  slot = kNoSlot;
  if (value->graph_ != graph_) --graph_->storage_->foreign_links;
}

}  // namespace thaw::ir
