// Editing what is in a graph: removing, replacing, renaming, moving.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/graph_storage.h"

namespace thaw::ir {

void Graph::remove_input(Value* value) {
  if (value->graph_ != this || !value->is_input_)
    Editor::refuse(fmt::format("'{}' is not an input", value->name_), name);
  const bool stays = value->initializer_ || value->sparse_initializer_;
  if (!stays && value->is_used()) {
    Editor::refuse(fmt::format("the input '{}' is in use", value->name_), name, "replace its uses first");
  }
  std::erase(inputs_, value);
  value->is_input_ = false;
  if (!stays) Editor::drop_value(*this, value);
}

void Graph::set_output(int i, Value* value) {
  Value* old = outputs_[static_cast<size_t>(i)];
  if (old == value) return;
  std::unique_ptr<Declaration>& declaration = storage_->output_declarations[static_cast<size_t>(i)];
  if (value->type.kind == Type::Kind::kNone && value->graph_ == this) {
    value->type = declaration ? declaration->type : old->type;
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
  (value->initializer_ ? storage_->initializers : storage_->sparse_initializers).remove(value);
  if (value->initializer_) storage_->tensors.retire(value->initializer_);
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
  for (TensorAnnotation& annotation : quantization_annotations_) {
    if (annotation.tensor_name == value->name_) annotation.tensor_name = new_name;
    for (auto& [key, parameter] : annotation.parameters) {
      if (parameter == value->name_) parameter = new_name;
    }
  }
  Editor::note_name(*this, new_name);
  storage_->names.erase(value);
  value->name_ = std::move(new_name);
  storage_->names.insert(value);
  if (value->initializer_) value->initializer_->name = value->name_;
  if (value->sparse_initializer_) const_cast<SparseTensor*>(value->sparse_initializer_)->values.name = value->name_;
  if (const auto found = storage_->shadows_of.find(value); found != storage_->shadows_of.end()) {
    for (Value* shadow : found->second) shadow->name_ = value->name_;
  }
}

void Graph::move_node(Node* node, Node* before) {
  if (node->graph_ != this || (before && before->graph_ != this)) {
    Editor::refuse("a node can only be moved within its own graph", name);
  }
  if (node == before) return;
  Editor::take_out(*this, node);
  Editor::put_in(*this, node, before);
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
