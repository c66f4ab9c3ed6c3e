// Finding, adding and listing; editing what is there is in graph_edit.cc.
#include "thaw/ir/graph/graph.h"

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::ir {

Graph::Graph() : storage_(std::make_unique<Storage>()) {}

Graph::~Graph() {
  // Graphs that attributes share with someone else must not keep pointers into this one.
  for (Node* node : storage_->with_subgraphs) {
    for (const Attribute& attribute : node->attributes_) Editor::detach(node, attribute);
  }
  if (storage_->foreign_links > 0) {
    for (Node* node : nodes()) {
      for (size_t i = 0; i < node->inputs_.size(); ++i) {
        if (node->inputs_[i] && node->inputs_[i]->graph_ != this) node->unlink(static_cast<int>(i));
      }
    }
  }
}

const std::vector<Value*>& Graph::initializers() const { return storage_->initializers.items(); }
const std::vector<Value*>& Graph::sparse_initializers() const { return storage_->sparse_initializers.items(); }
const std::vector<Value*>& Graph::value_infos() const { return storage_->value_infos.items(); }

size_t Graph::num_nodes() const {
  size_t count = node_count_;
  for (const Node* node : storage_->with_subgraphs)
    for (const Graph* inner : node->subgraphs()) count += inner->num_nodes();
  return count;
}

std::vector<Graph*> Graph::returned_by(const Value* value) const {
  const auto found = storage_->returned_by.find(value);
  return found == storage_->returned_by.end() ? std::vector<Graph*>() : found->second;
}

Value* Graph::find(std::string_view name_to_find) const { return storage_->names.find(name_to_find); }

Value* Graph::find_visible(std::string_view name_to_find) const {
  for (const Graph* graph = this; graph; graph = graph->parent_) {
    if (Value* value = graph->find(name_to_find)) return value;
  }
  return nullptr;
}

Value* Graph::add_value(std::string value_name) {
  if (value_name.empty()) Editor::refuse("a value needs a name", name);
  if (find_visible(value_name)) {
    Editor::refuse(fmt::format("the name '{}' is taken", value_name), name, "ask Graph::unique_name for a new one");
  }
  Editor::note_name(*this, value_name);
  Value* value = Editor::make_value(*this, std::move(value_name));
  storage_->names.insert(value);
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, value] {
      storage_->names.erase(value);
      storage_->values.retire(value);
    });
  }
  return value;
}

Value* Graph::add_input(std::string input_name, Type type) {
  Value* value = add_value(std::move(input_name));
  value->type_ = std::move(type);
  value->is_input_ = true;
  inputs_.push_back(value);
  if (Transaction* edit = Editor::transaction(*this)) edit->record([this] { inputs_.pop_back(); });
  return value;
}

void Graph::add_output(Value* value) {
  outputs_.push_back(value);
  auto& declaration = storage_->output_declarations.emplace_back();
  if (value->graph_ != this) {
    declaration = std::make_unique<Declaration>();
    declaration->type = value->type;
  }
  Editor::mark_output(*this, value);
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, value] {
      outputs_.pop_back();
      storage_->output_declarations.pop_back();
      Editor::unmark_output(*this, value);
    });
    if (parent_node_) edit->touch(parent_node_);
  }
}

Value* Graph::add_initializer(Tensor tensor) {
  Value* value = add_value(tensor.name);
  replace_initializer(value, std::move(tensor));
  return value;
}

void Graph::replace_initializer(Value* value, Tensor tensor) {
  if (value->graph_ != this || value->producer_ || value->sparse_initializer_) {
    Editor::refuse(fmt::format("'{}' cannot hold a tensor: a node makes it, or it is another graph's", value->name_),
                   name);
  }
  tensor.name = value->name_;
  const bool is_first = !value->initializer_;
  if (is_first) {
    value->initializer_ = storage_->tensors.make();
    storage_->initializers.add(value);
  }
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, value, is_first, before = *value->initializer_] {
      *value->initializer_ = before;
      if (!is_first) return;
      storage_->initializers.remove(value);
      storage_->tensors.retire(value->initializer_);
      value->initializer_ = nullptr;
    });
    for (const Use& use : value->uses()) edit->touch(use.node);
  }
  *value->initializer_ = std::move(tensor);
}

Value* Graph::add_sparse_initializer(SparseTensor tensor) {
  Value* value = add_value(tensor.values.name);
  SparseTensor* kept = storage_->sparse_tensors.make();
  *kept = std::move(tensor);
  value->sparse_initializer_ = kept;
  storage_->sparse_initializers.add(value);
  if (Transaction* edit = Editor::transaction(*this)) {
    edit->record([this, value] {
      storage_->sparse_initializers.remove(value);
      value->sparse_initializer_ = nullptr;
    });
  }
  return value;
}

Node* Graph::add_node(std::string op_type, std::string domain, std::vector<Value*> inputs, std::vector<Value*> outputs,
                      std::string node_name, Node* before) {
  for (const Value* value : outputs) {
    if (!value) continue;
    if (value->graph_ != this || value->producer_ || value->is_input_ || value->initializer_ ||
        value->sparse_initializer_) {
      Editor::refuse(
          fmt::format("'{}' is made elsewhere already, so {} '{}' cannot make it", value->name_, op_type, node_name),
          name);
    }
  }
  if (before && before->graph_ != this) Editor::refuse("a node can only stand before one of its own graph", name);
  Node* node = Editor::make_node(*this, before);
  if (Transaction* edit = Editor::transaction(*this)) {
    // Inputs and attributes are taken back before this is: they were set after it.
    edit->record([this, node] {
      for (Value* output : node->outputs_)
        if (output) output->producer_ = nullptr;
      storage_->with_subgraphs.erase(node);
      Editor::take_out(*this, node);
      node->removed_ = true;
      node->outputs_ = {};
    });
  }
  node->set_op(std::move(op_type), std::move(domain));
  node->name = std::move(node_name);
  node->set_inputs(inputs);
  node->outputs_ = std::move(outputs);
  for (size_t i = 0; i < node->outputs_.size(); ++i) {
    if (!node->outputs_[i]) continue;
    node->outputs_[i]->producer_ = node;
    node->outputs_[i]->producer_index_ = static_cast<int>(i);
  }
  return node;
}

void Graph::set_value_info(Value* value, Type type) {
  if (value->graph_ != this) Editor::refuse(fmt::format("'{}' is another graph's", value->name_), name);
  value->set_type(std::move(type));
  if (value->is_input_ || value->is_output() || value->value_info_slot_ >= 0) return;
  storage_->value_infos.add(value);
  if (Transaction* edit = Editor::transaction(*this))
    edit->record([this, value] { storage_->value_infos.remove(value); });
}

void Value::set_type(Type to) {
  if (Transaction* edit = Graph::Editor::transaction(*graph_)) {
    edit->record([this, before = type_] { type_ = before; });
    edit->declared_.push_back(this);
  }
  type_ = std::move(to);
}

void Value::set_dim(size_t axis, DeclaredDim dim) {
  Type changed = type_;
  changed.shape->at(axis) = std::move(dim);
  set_type(std::move(changed));
}

void Value::forget_shape() {
  Type changed = type_;
  ir::forget_shape(changed);
  set_type(std::move(changed));
}

void Graph::clear_value_info(Value* value) {
  if (value->graph_ != this) Editor::refuse(fmt::format("'{}' is another graph's", value->name_), name);
  const auto drop_shadow = [this](Value* shadow) {
    if (Transaction* edit = Editor::transaction(*this)) {
      edit->record([this, shadow, declaration = storage_->shadows.at(shadow)] {
        storage_->value_infos.add(shadow);
        storage_->shadows.emplace(shadow, declaration);
        if (declaration.main) storage_->shadows_of[declaration.main].push_back(shadow);
      });
    }
    storage_->value_infos.remove(shadow);
    storage_->shadows.erase(shadow);
    Editor::retire(*this, shadow);
  };
  if (const auto shadow = storage_->shadows.find(value); shadow != storage_->shadows.end()) {
    if (shadow->second.main) std::erase(storage_->shadows_of[shadow->second.main], value);
    return drop_shadow(value);
  }
  if (value->value_info_slot_ >= 0) {
    if (Transaction* edit = Editor::transaction(*this)) {
      edit->record([this, value, wire = value->extra] {
        storage_->value_infos.add(value);
        value->extra = wire;
      });
    }
    storage_->value_infos.remove(value);
    if (!value->is_input_ && !value->is_output()) {
      value->set_type({});
      value->extra.clear();
    }
  }
  if (const auto found = storage_->shadows_of.find(value); found != storage_->shadows_of.end()) {
    const std::vector<Value*> shadows = std::move(found->second);
    storage_->shadows_of.erase(found);
    for (Value* shadow : shadows) drop_shadow(shadow);
  }
}

bool Value::is_used() const { return !uses_.empty() || output_count_ > 0 || returned_count_ > 0; }

const Tensor* Value::constant() const {
  if (initializer_) return initializer_;
  return producer_ ? producer_->constant() : nullptr;
}

const Tensor* Value::fixed_constant() const {
  // An input that declares other sizes than its default's is there to be given.
  const auto declares_others = [&] {
    return initializer_ && type.shape &&
           !std::ranges::equal(*type.shape, initializer_->dims,
                               [](const DeclaredDim& dim, int64_t size) { return dim.value == size; });
  };
  const bool is_given =
      is_input_ && graph_ && (graph_->parent() != nullptr || graph_->defaults_vary || declares_others());
  return is_given ? nullptr : constant();
}

Node* NodeRange::operator[](size_t i) const {
  auto it = begin();
  while (i-- > 0) ++it;
  return *it;
}

}  // namespace thaw::ir
