// Copies of graphs and models. Tensors share their bytes.
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/model.h"

namespace thaw::ir {

// Copies one graph after another into new ones; what is not in a copied graph stays what it was.
class Graph::Copier {
 public:
  void copy(const Graph& from, Graph& to);
  Attribute copy(const Attribute& from, Node* node);

 private:
  using Values = std::unordered_map<const Value*, Value*>;
  Value* copied(Value* value) const {
    const auto found = values_.find(value);
    return found == values_.end() ? value : found->second;
  }
  bool is_new(const Value* value) const { return made_.contains(value->graph_); }
  Value* copy_value(const Value& from, Graph& to);
  void copy_outputs(const Graph& from, Graph& to);
  void copy_value_infos(const Graph& from, Graph& to);
  std::shared_ptr<Graph> copy_subgraph(const Graph& from, Node* node);

  Values values_;
  std::unordered_set<const Graph*> made_;
};

Value* Graph::Copier::copy_value(const Value& from, Graph& to) {
  Value* value = Editor::make_value(to, from.name_);
  value->type_ = from.type_;
  value->extra = from.extra;
  value->is_input_ = from.is_input_;
  return value;
}

void Graph::Copier::copy(const Graph& from, Graph& to) {
  made_.insert(&to);
  to.name = from.name;
  to.extra = from.extra;
  to.quantization_annotations_ = from.quantization_annotations_;
  from.storage_->names.for_each([&](const Value* value) {
    Value* made = copy_value(*value, to);
    to.storage_->names.insert(made);
    values_.emplace(value, made);
  });
  for (Value* value : from.inputs_) to.inputs_.push_back(copied(value));
  for (Value* value : from.initializers()) to.replace_initializer(copied(value), *value->initializer_);
  for (Value* value : from.sparse_initializers()) {
    SparseTensor* tensor = to.storage_->sparse_tensors.make();
    *tensor = *value->sparse_initializer_;
    copied(value)->sparse_initializer_ = tensor;
    to.storage_->sparse_initializers.add(copied(value));
  }
  // Values come before all nodes: a graph that is not sorted is copied as it is.
  for (const Node* node : from.nodes()) {
    Node* made = Editor::make_node(to, nullptr);
    made->name = node->name;
    made->extra = node->extra;
    made->op_type_ = node->op_type_;
    made->domain_ = node->domain_;
    made->overload_ = node->overload_;
    for (Value* output : node->outputs_) {
      Value* value = output ? copied(output) : nullptr;
      if (value) {
        value->producer_ = made;
        value->producer_index_ = static_cast<int>(made->outputs_.size());
      }
      made->outputs_.push_back(value);
    }
    made->inputs_.reserve(node->inputs_.size());
    for (Value* input : node->inputs_) made->inputs_.push_back(input ? copied(input) : nullptr);
    made->use_slots_.resize(made->inputs_.size(), Node::kNoSlot);
    for (size_t i = 0; i < made->inputs_.size(); ++i) {
      // A value outside of the copy learns of the use when the copy is attached.
      if (made->inputs_[i] && is_new(made->inputs_[i])) made->link(static_cast<int>(i));
    }
    made->attributes_.reserve(node->attributes_.size());
    for (const Attribute& attribute : node->attributes_) made->attributes_.push_back(copy(attribute, made));
    made->update_constant();
  }
  copy_outputs(from, to);
  copy_value_infos(from, to);
}

void Graph::Copier::copy_outputs(const Graph& from, Graph& to) {
  for (size_t i = 0; i < from.outputs_.size(); ++i) {
    Value* value = copied(from.outputs_[i]);
    to.outputs_.push_back(value);
    auto& declaration = to.storage_->output_declarations.emplace_back();
    if (const Declaration* old = from.storage_->output_declarations[i].get()) {
      declaration = std::make_unique<Declaration>(*old);
      if (old->main) declaration->main = copied(old->main);
      declaration->unlinked = false;
    }
    if (is_new(value)) {
      Editor::mark_output(to, value);
    } else if (declaration) {
      declaration->unlinked = true;
    }
  }
}

void Graph::Copier::copy_value_infos(const Graph& from, Graph& to) {
  for (Value* value : from.value_infos()) {
    const auto shadow = from.storage_->shadows.find(value);
    if (shadow == from.storage_->shadows.end()) {
      to.storage_->value_infos.add(copied(value));
      continue;
    }
    Value* made = copy_value(*value, to);
    to.storage_->value_infos.add(made);
    Declaration& declaration = to.storage_->shadows[made];
    declaration = shadow->second;
    if (declaration.main) {
      declaration.main = copied(declaration.main);
      to.storage_->shadows_of[declaration.main].push_back(made);
    }
  }
}

std::shared_ptr<Graph> Graph::Copier::copy_subgraph(const Graph& from, Node* node) {
  auto graph = std::make_shared<Graph>();
  if (node) {
    graph->parent_ = node->graph_;
    graph->parent_node_ = node;
    node->graph_->storage_->with_subgraphs.insert(node);
  }
  copy(from, *graph);
  return graph;
}

Attribute Graph::Copier::copy(const Attribute& from, Node* node) {
  Attribute made = from;
  if (auto* one = std::get_if<std::shared_ptr<Graph>>(&made.value)) {
    if (*one) *one = copy_subgraph(**one, node);
  } else if (auto* many = std::get_if<std::vector<std::shared_ptr<Graph>>>(&made.value)) {
    for (auto& graph : *many) {
      if (graph) graph = copy_subgraph(*graph, node);
    }
  } else if (auto* tensor = std::get_if<std::shared_ptr<Tensor>>(&made.value)) {
    if (*tensor) *tensor = std::make_shared<Tensor>(**tensor);
  } else if (auto* tensors = std::get_if<std::vector<std::shared_ptr<Tensor>>>(&made.value)) {
    for (auto& item : *tensors) item = std::make_shared<Tensor>(*item);
  }
  return made;
}

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto made = std::make_shared<Graph>();
  Graph::Copier().copy(graph, *made);
  return made;
}

std::unique_ptr<Model> clone(const Model& model) {
  auto made = std::make_unique<Model>();
  made->ir_version = model.ir_version;
  made->opset_imports = model.opset_imports;
  made->producer_name = model.producer_name;
  made->producer_version = model.producer_version;
  made->metadata_props = model.metadata_props;
  made->metadata_wire = model.metadata_wire;
  made->extra = model.extra;
  made->path = model.path;
  made->owners = model.owners;
  made->repeated = model.repeated;
  made->budget = model.budget;
  if (model.graph) {
    made->graph = std::make_unique<Graph>();
    Graph::Copier().copy(*model.graph, *made->graph);
    made->graph->defaults_vary = model.graph->defaults_vary;
  }
  for (const auto& function : model.functions) {
    auto& copy = made->functions.emplace_back(std::make_unique<Function>());
    copy->name = function->name;
    copy->domain = function->domain;
    copy->overload = function->overload;
    copy->attributes = function->attributes;
    copy->opset_imports = function->opset_imports;
    copy->extra = function->extra;
    copy->body = std::make_unique<Graph>();
    Graph::Copier copier;
    copier.copy(*function->body, *copy->body);
    for (const Attribute& attribute : function->attribute_defaults) {
      copy->attribute_defaults.push_back(copier.copy(attribute, nullptr));
    }
  }
  made->index_functions();
  return made;
}

}  // namespace thaw::ir
