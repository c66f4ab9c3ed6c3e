// What is known of a node: its attributes, and the facts of what it reads. What every rule of an operator sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::ops {

class NodeView {
 public:
  virtual ~NodeView() = default;

  const ir::Node& node() const { return *node_; }
  int64_t opset() const { return opset_; }  // imported version of the node's domain

  int num_inputs() const { return static_cast<int>(node_->inputs().size()); }
  int num_outputs() const { return static_cast<int>(node_->outputs().size()); }
  bool has_input(int i) const { return node_->input(i) != nullptr; }
  bool wants_output(int i) const { return node_->output(i) != nullptr; }

  // Facts; an omitted or missing input has the unknown fact.
  virtual const Fact& input(int i) const = 0;
  // Of an output, where it was inferred before; the unknown fact while its shape rule runs.
  virtual const Fact& output(int i) const = 0;
  // Elements of a small tensor, in row-major order; null when they are not followed. Reads a small constant's bytes.
  virtual const Elements* elements(int i) = 0;
  // The constant behind an input, whatever its size; null when it is computed. Reading its bytes is the rule's choice.
  virtual const ir::Tensor* constant(int i) const = 0;
  // The whole input as plain integers, when all are known: axes, pads, repeats, a static shape.
  std::optional<std::vector<int64_t>> ints(int i);
  // The whole input as Dims (an element that is not known is an unknown Dim); nullopt when its length is not known.
  std::optional<std::vector<dim::Dim>> dims_from(int i);
  // A scalar or one-element input as a plain number.
  std::optional<double> number(int i);

  // Attributes, with references to a function's attributes resolved.
  virtual const ir::Attribute* attribute(std::string_view name) const = 0;
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t otherwise) const;
  std::optional<int64_t> attr_int(std::string_view name) const;
  double attr_float(std::string_view name, double otherwise) const;
  std::string_view attr_string(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<int64_t>> attr_ints(std::string_view name) const;
  const ir::Tensor* attr_tensor(std::string_view name) const;
  const ir::Graph* attr_graph(std::string_view name) const;

 protected:
  NodeView() = default;
  NodeView(const ir::Node& node, int64_t opset) : node_(&node), opset_(opset) {}

  const ir::Node* node_ = nullptr;
  int64_t opset_ = 0;
};

}  // namespace thaw::ops
