// Editing what is in a graph: removing, replacing, renaming, moving.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::ir {

void Graph::remove_input(Value* value) {
  if (value->graph_ != this || !value->is_input_)
    Editor::refuse(fmt::format("'{}' is not an input", value->name_), name);
  const bool stays = value->initializer_ || value->sparse_initializer_;
  if (!stays && value->is_used()) {
    Editor::refuse(fmt::format("the input '{}' is in use", value->name_), name, "replace its uses first");
  }
  const auto at = std::ranges::find(inputs_, value);
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, value, index = at - inputs_.begin()] {
      inputs_.insert(inputs_.begin() + index, value);
      value->is_input_ = true;
    });
  }
  inputs_.erase(at);
  value->is_input_ = false;
  if (!stays) Editor::drop_value(*this, value);
}

void Graph::set_output(int i, Value* value) {
  Value* old = outputs_[static_cast<size_t>(i)];
  if (old == value) return;
  std::unique_ptr<Declaration>& declaration = storage_->output_declarations[static_cast<size_t>(i)];
  if (Transaction* edit = Editor::transaction(*this)) {
    const auto before = declaration ? std::make_shared<Declaration>(*declaration) : nullptr;
    edit->record([this, i, old, value, before] {
      outputs_[static_cast<size_t>(i)] = old;
      Editor::mark_output(*this, old);
      Editor::unmark_output(*this, value);
      storage_->output_declarations[static_cast<size_t>(i)] = before ? std::make_unique<Declaration>(*before) : nullptr;
    });
    if (parent_node_) edit->touch(parent_node_);
  }
  if (value->type.kind == Type::Kind::kNone && value->graph_ == this) {
    value->set_type(declaration ? declaration->type : old->type);
  } else if (value->graph_ != this) {
    auto kept = std::make_unique<Declaration>();
    kept->type = declaration ? declaration->type : old->type;
    if (value->type.kind != Type::Kind::kNone) kept->type = value->type;
    declaration = std::move(kept);
  }
  if (value->graph_ == this) declaration.reset();
  outputs_[static_cast<size_t>(i)] = value;
  Editor::mark_output(*this, value);
  Editor::unmark_output(*this, old);
}

void Graph::remove_output(int i) {
  Value* old = outputs_[static_cast<size_t>(i)];
  if (Transaction* edit = Editor::transaction(*this)) {
    const Declaration* declaration = storage_->output_declarations[static_cast<size_t>(i)].get();
    edit->record([this, i, old, before = declaration ? std::make_shared<Declaration>(*declaration) : nullptr] {
      outputs_.insert(outputs_.begin() + i, old);
      storage_->output_declarations.insert(storage_->output_declarations.begin() + i,
                                           before ? std::make_unique<Declaration>(*before) : nullptr);
      Editor::mark_output(*this, old);
    });
    if (parent_node_) edit->touch(parent_node_);
  }
  outputs_.erase(outputs_.begin() + i);
  storage_->output_declarations.erase(storage_->output_declarations.begin() + i);
  Editor::unmark_output(*this, old);
}

void Graph::remove_node(Node* node) {
  if (node->graph_ != this || node->removed_)
    Editor::refuse("a node can only be removed from its own graph, once", name);
  for (const Value* output : node->outputs_) {
    if (output && output->is_used()) {
      Editor::refuse(
          fmt::format("{} cannot be removed while its output '{}' is in use", node->describe(), output->name_), name,
          "replace the uses first");
    }
  }
  for (size_t i = 0; i < node->inputs_.size(); ++i) node->unlink(static_cast<int>(i));
  for (const Attribute& attribute : node->attributes_) Editor::detach(node, attribute);
  storage_->with_subgraphs.erase(node);
  for (Value* output : node->outputs_) {
    if (output) Editor::drop_value(*this, output);
  }
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, node, next = node->next_, inputs = node->inputs_, outputs = node->outputs_,
                  attributes = node->attributes_, constant = node->constant_, wire = node->extra] {
      node->removed_ = false;
      node->extra = wire;
      node->outputs_ = outputs;
      node->attributes_ = attributes;
      node->constant_ = constant;
      node->inputs_ = inputs;
      node->use_slots_.assign(inputs.size(), Node::kNoSlot);
      Editor::put_in(*this, node, next);
      for (size_t i = 0; i < inputs.size(); ++i) node->link(static_cast<int>(i));
      for (const Attribute& attribute : node->attributes_) Editor::attach(node, attribute);
      if (!node->subgraphs().empty()) storage_->with_subgraphs.insert(node);
    });
    edit->touch(node);
  }
  Editor::take_out(*this, node);
  // The object stays, so that a walk that stands on it can go on.
  node->removed_ = true;
  node->inputs_ = {};
  node->outputs_ = {};
  node->use_slots_ = {};
  node->attributes_ = {};
  node->constant_.reset();
  node->extra = {};
}

Value* Graph::release_output(Node* node, int i) {
  Value*& slot = node->outputs_.at(static_cast<size_t>(i));
  Value* value = slot;
  if (Transaction* edit = value ? Editor::transaction(*this) : nullptr) {
    edit->record([node, i, value] {
      node->outputs_[static_cast<size_t>(i)] = value;
      value->producer_ = node;
      value->producer_index_ = i;
    });
    edit->touch(node);
  }
  if (value) {
    value->producer_ = nullptr;
    value->producer_index_ = 0;
  }
  slot = nullptr;
  return value;
}

void Graph::remove_value(Value* value) {
  if (value->graph_ != this || value->is_used() || value->is_input_ || value->producer_) {
    Editor::refuse(fmt::format("'{}' cannot be removed: it is in use", value->name_), name, "replace its uses first");
  }
  Editor::drop_value(*this, value);
}

void Graph::remove_initializer(Value* value) {
  if (value->graph_ != this || !(value->initializer_ || value->sparse_initializer_)) {
    Editor::refuse(fmt::format("'{}' is not an initializer of this graph", value->name_), name);
  }
  if (!value->is_input_) return remove_value(value);
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, value, dense = value->initializer_, sparse = value->sparse_initializer_] {
      value->initializer_ = dense;
      value->sparse_initializer_ = sparse;
      (dense ? storage_->initializers : storage_->sparse_initializers).add(value);
    });
  }
  (value->initializer_ ? storage_->initializers : storage_->sparse_initializers).remove(value);
  if (value->initializer_) Editor::retire(*this, value->initializer_);
  value->initializer_ = nullptr;
  value->sparse_initializer_ = nullptr;
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  while (!from->uses_.empty()) {
    const Use use = from->uses_.back();
    use.node->set_input(use.index, to);
  }
  const auto replace_outputs = [&](Graph& graph) {
    for (size_t i = 0; i < graph.outputs_.size(); ++i) {
      if (graph.outputs_[i] == from) graph.set_output(static_cast<int>(i), to);
    }
  };
  if (from->output_count_ > 0) replace_outputs(*from->graph_);
  while (from->returned_count_ > 0) replace_outputs(*from->graph_->storage_->returned_by[from].back());
}

void Graph::rename(Value* value, std::string new_name) {
  if (value->graph_ != this) Editor::refuse(fmt::format("'{}' is another graph's", value->name_), name);
  if (value->name_ == new_name) return;
  if (new_name.empty()) Editor::refuse("a value needs a name", name);
  // The name must mean nothing else wherever the value is read.
  const auto require_free = [&](const Graph* graph) {
    for (; graph && graph != this; graph = graph->parent_) {
      if (graph->find(new_name)) {
        Editor::refuse(fmt::format("'{}' cannot be renamed to '{}', which a subgraph that reads it has a value of",
                                   value->name_, new_name),
                       name, "ask Graph::unique_name for a new one");
      }
    }
  };
  if (find_visible(new_name)) {
    Editor::refuse(fmt::format("'{}' cannot be renamed to '{}', which is taken", value->name_, new_name), name,
                   "ask Graph::unique_name for a new one");
  }
  for (const Use& use : value->uses()) require_free(use.node->graph_);
  if (value->returned_count_ > 0) {
    for (const Graph* graph : storage_->returned_by[value]) require_free(graph);
  }
  if (Transaction* edit = Editor::transaction(*this))
    edit->record([this, value, before = value->name_] { Editor::set_name(*this, value, before); });
  Editor::note_name(*this, new_name);
  Editor::set_name(*this, value, std::move(new_name));
}

void Graph::Editor::set_name(Graph& graph, Value* value, std::string to) {
  for (TensorAnnotation& annotation : graph.quantization_annotations_) {
    if (annotation.tensor_name == value->name_) annotation.tensor_name = to;
    for (auto& [key, parameter] : annotation.parameters) {
      if (parameter == value->name_) parameter = to;
    }
  }
  Storage& storage = *graph.storage_;
  storage.names.erase(value);
  value->name_ = std::move(to);
  storage.names.insert(value);
  if (value->initializer_) value->initializer_->name = value->name_;
  if (value->sparse_initializer_) const_cast<SparseTensor*>(value->sparse_initializer_)->values.name = value->name_;
  if (const auto found = storage.shadows_of.find(value); found != storage.shadows_of.end()) {
    for (Value* shadow : found->second) shadow->name_ = value->name_;
  }
}

void Graph::tell_names_apart() {
  if (storage_->with_subgraphs.empty()) return;
  for (Node* node : nodes()) {
    for (Graph* inner : node->subgraphs()) {
      if (inner->parent_node_ != node) continue;
      std::vector<Value*> hiding;
      inner->storage_->names.for_each([&](Value* value) {
        if (find_visible(value->name_)) hiding.push_back(value);
      });
      for (Value* value : hiding) inner->rename(value, inner->unique_name(value->name_));
      inner->tell_names_apart();
    }
  }
}

namespace {

void add_nodes_of_taken_names(const Graph& graph, std::vector<Node*>& found) {
  std::unordered_set<std::string_view> names;
  for (Node* node : graph.nodes()) {
    if (!node->name.empty() && !names.insert(node->name).second) found.push_back(node);
    for (const Graph* inner : node->subgraphs()) add_nodes_of_taken_names(*inner, found);
  }
}

void rename_nodes_of_taken_names(const Graph& graph) {
  const std::vector<Node*> renamed = nodes_of_taken_names(graph);
  if (renamed.empty()) return;
  std::unordered_map<const Graph*, std::unordered_set<std::string>> names;
  for (Node* node : renamed) {
    const auto [own, is_new] = names.try_emplace(node->graph());
    if (is_new)
      for (const Node* other : node->graph()->nodes()) own->second.insert(other->name);
    std::string name;
    for (size_t i = 1; name.empty() || !own->second.insert(name).second; ++i)
      name = fmt::format("{}_{}", node->name, i);
    node->name = std::move(name);
  }
}

}  // namespace

std::vector<Node*> nodes_of_taken_names(const Graph& graph) {
  std::vector<Node*> found;
  add_nodes_of_taken_names(graph, found);
  return found;
}

void tell_names_apart(Model& model) {
  model.graph->tell_names_apart();
  rename_nodes_of_taken_names(*model.graph);
  for (const auto& function : model.functions) function->body->tell_names_apart();
}

std::string Graph::unique_name(std::string_view hint) {
  Graph* root = this;
  while (root->parent_) root = root->parent_;
  if (!root->storage_->registry) {
    root->storage_->registry = std::make_unique<NameRegistry>();
    Editor::collect_names(*root, *root->storage_->registry);
  }
  NameRegistry& registry = *root->storage_->registry;
  std::string candidate(hint.empty() ? "value" : hint);
  if (registry.taken.insert(candidate).second) return candidate;
  const std::string stem = candidate;
  uint64_t& suffix = registry.next_suffix[stem];
  do candidate = fmt::format("{}_{}", stem, ++suffix);
  while (!registry.taken.insert(candidate).second);
  return candidate;
}

}  // namespace thaw::ir
