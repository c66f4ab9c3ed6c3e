#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::ir {

const Attribute* Node::attribute(std::string_view attribute_name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == attribute_name) return &attribute;
  }
  return nullptr;
}

int64_t Node::attribute_int(std::string_view attribute_name, int64_t otherwise) const {
  const Attribute* found = attribute(attribute_name);
  const int64_t* value = found ? found->as<int64_t>() : nullptr;
  return value ? *value : otherwise;
}

float Node::attribute_float(std::string_view attribute_name, float otherwise) const {
  const Attribute* found = attribute(attribute_name);
  const float* value = found ? found->as<float>() : nullptr;
  return value ? *value : otherwise;
}

std::string_view Node::attribute_string(std::string_view attribute_name, std::string_view otherwise) const {
  const Attribute* found = attribute(attribute_name);
  const std::string* value = found ? found->as<std::string>() : nullptr;
  return value ? *value : otherwise;
}

std::span<const int64_t> Node::attribute_ints(std::string_view attribute_name) const {
  const Attribute* found = attribute(attribute_name);
  const auto* value = found ? found->as<std::vector<int64_t>>() : nullptr;
  return value ? std::span<const int64_t>(*value) : std::span<const int64_t>();
}

std::vector<Graph*> Node::subgraphs() const {
  std::vector<Graph*> graphs;
  for (const Attribute& attribute : attributes_) {
    for_each_graph(attribute, [&](Graph& graph) { graphs.push_back(&graph); });
  }
  return graphs;
}

void Node::set_attribute(Attribute attribute) {
  const auto place = std::find_if(attributes_.begin(), attributes_.end(),
                                  [&](const Attribute& other) { return other.name == attribute.name; });
  std::vector<std::pair<Node*, Graph*>> taken;  // graphs that leave another node
  bool has_graph = false;
  for_each_graph(attribute, [&](Graph& graph) {
    has_graph = true;
    for (const Graph* outer = graph_; outer; outer = outer->parent_) {
      if (outer == &graph)
        Graph::Editor::refuse(fmt::format("{} cannot hold a graph that it stands in", describe()), graph.name);
    }
    if (graph.parent_node_ && graph.parent_node_ != this) taken.emplace_back(graph.parent_node_, &graph);
  });
  Transaction* edit = Graph::Editor::transaction(*graph_);
  for (const auto& [holder, graph] : taken) Graph::Editor::detach(holder, *graph);
  if (edit) {
    std::optional<Attribute> before;
    if (place != attributes_.end()) before = *place;
    edit->record([this, name_of = attribute.name, before, taken] {
      const auto at = std::ranges::find(attributes_, name_of, &Attribute::name);
      Graph::Editor::detach(this, *at);
      if (before) {
        *at = *before;
        Graph::Editor::attach(this, *at);
      } else {
        attributes_.erase(at);
      }
      for (const auto& [holder, graph] : taken) Graph::Editor::attach(holder, *graph);
      update_constant();
    });
    edit->touch(this);
  }
  if (place != attributes_.end()) {
    Graph::Editor::detach(this, *place);
    *place = std::move(attribute);
    Graph::Editor::attach(this, *place);
  } else {
    attributes_.push_back(std::move(attribute));
    Graph::Editor::attach(this, attributes_.back());
  }
  if (has_graph) graph_->storage_->with_subgraphs.insert(this);
  update_constant();
}

void Node::remove_attribute(std::string_view attribute_name) {
  const auto at = std::ranges::find(attributes_, attribute_name, &Attribute::name);
  if (at == attributes_.end()) return;
  if (Transaction* edit = Graph::Editor::transaction(*graph_)) {
    edit->record([this, index = at - attributes_.begin(), before = *at] {
      const auto back = attributes_.insert(attributes_.begin() + index, before);
      Graph::Editor::attach(this, *back);
      update_constant();
    });
    edit->touch(this);
  }
  Graph::Editor::detach(this, *at);
  attributes_.erase(at);
  update_constant();
}

void Node::set_input(int i, Value* value) {
  const auto index = static_cast<size_t>(i);
  if (Transaction* edit = Graph::Editor::transaction(*graph_)) {
    edit->record([this, i, before = input(i), size = inputs_.size()] {
      unlink(i);
      inputs_[static_cast<size_t>(i)] = before;
      link(i);
      inputs_.resize(size);
      use_slots_.resize(size);
    });
    edit->touch(this);
  }
  if (index >= inputs_.size()) {
    inputs_.resize(index + 1);
    use_slots_.resize(index + 1, kNoSlot);
  }
  unlink(i);
  inputs_[index] = value;
  link(i);
}

void Node::set_inputs(std::span<Value* const> values) {
  if (Transaction* edit = Graph::Editor::transaction(*graph_)) {
    edit->record([this, before = inputs_] { put_inputs(before); });
    edit->touch(this);
  }
  put_inputs(values);
}

void Node::put_inputs(std::span<Value* const> values) {
  for (size_t i = 0; i < inputs_.size(); ++i) unlink(static_cast<int>(i));
  inputs_.assign(values.begin(), values.end());
  use_slots_.assign(values.size(), kNoSlot);
  for (size_t i = 0; i < inputs_.size(); ++i) link(static_cast<int>(i));
}

void Node::set_op(std::string op_type, std::string domain) {
  if (Transaction* edit = Graph::Editor::transaction(*graph_)) {
    edit->record([this, op = op_type_, of = domain_, variant = overload_] {
      op_type_ = op;
      domain_ = of;
      overload_ = variant;
      update_constant();
    });
    edit->touch(this);
  }
  op_type_ = std::move(op_type);
  domain_ = domain == "ai.onnx" ? std::string() : std::move(domain);
  overload_.clear();
  update_constant();
}

void Node::update_constant() {
  constant_.reset();
  if (op_type_ != "Constant" || !domain_.empty()) return;
  for (const Attribute& attribute : attributes_) {
    if (const auto* tensor = attribute.as<std::shared_ptr<Tensor>>(); tensor && attribute.name == "value") {
      constant_ = *tensor;
    } else if (const auto* integer = attribute.as<int64_t>(); integer && attribute.name == "value_int") {
      constant_ = std::make_shared<Tensor>(Tensor::from_int64("", {}, {integer, 1}));
    } else if (const auto* integers = attribute.as<std::vector<int64_t>>();
               integers && attribute.name == "value_ints") {
      constant_ = std::make_shared<Tensor>(Tensor::from_int64("", {static_cast<int64_t>(integers->size())}, *integers));
    } else if (const auto* real = attribute.as<float>(); real && attribute.name == "value_float") {
      constant_ = std::make_shared<Tensor>(Tensor::from_float("", {}, {real, 1}));
    } else if (const auto* reals = attribute.as<std::vector<float>>(); reals && attribute.name == "value_floats") {
      constant_ = std::make_shared<Tensor>(Tensor::from_float("", {static_cast<int64_t>(reals->size())}, *reals));
    } else if (const auto* text = attribute.as<std::string>(); text && attribute.name == "value_string") {
      constant_ = std::make_shared<Tensor>(Tensor::from_strings("", {}, {text, 1}));
    } else if (const auto* texts = attribute.as<std::vector<std::string>>();
               texts && attribute.name == "value_strings") {
      constant_ = std::make_shared<Tensor>(Tensor::from_strings("", {static_cast<int64_t>(texts->size())}, *texts));
    }
  }
}

std::string Node::describe() const {
  std::string op = domain_.empty() ? op_type_ : domain_ + "." + op_type_;
  if (!name.empty()) return fmt::format("{} '{}'", op, name);
  for (const Value* output : outputs_) {
    if (output) return fmt::format("{} -> '{}'", op, output->name());
  }
  return op;
}

}  // namespace thaw::ir
