// The one writer of nodes: it writes an operator in the form that the model's opset has.
//
// Nodes are asked for in their newest form. Where the model's opset has an operand as an attribute (Squeeze's axes
// before 13, Slice's bounds before 10), a constant operand becomes that attribute: the schemas tell which. What the
// opset has in no form is refused by name, so that no rewrite writes a model that cannot be loaded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/emit.h"

namespace thaw::rewrite {

// What an operand was called when it was an attribute: the same, but for a few.
std::string attribute_of(const std::string& operand);

// A node of any domain, with any number of outputs: false leaves one out, as its position must be kept.
struct NodeSpec {
  std::string_view op;
  std::vector<ir::Value*> inputs = {};  // null: left out
  ops::Attributes attributes = {};
  std::string_view domain = {};
  std::vector<bool> outputs = {true};
  bool as_it_is = false;  // of ai.onnx, in a form that the model's opset or its runtime has: no schema is asked
};

class Emitter final : public ops::NodeWriter {
 public:
  // New nodes and values are called prefix_Operator, after the origin where one is set: "origin/prefix_Operator".
  Emitter(ir::Model& model, std::string prefix);

  int64_t opset() const override { return opset_; }
  ir::Value* write(ir::Graph& graph, ir::Node* before, std::string_view op, std::vector<ir::Value*> inputs,
                   ops::Attributes attributes) override;
  // Named after its type and numbers where it has no name.
  ir::Value* constant(ir::Tensor tensor) override;
  // Another domain's operators are written as they are asked for; the domain is imported at version 1 if it is not yet.
  std::vector<ir::Value*> write(ir::Graph& graph, ir::Node* before, NodeSpec node);

  // What the next nodes are made for: the name of a node or tensor of the model.
  void set_origin(std::string origin) { origin_ = std::move(origin); }
  // Equal nodes that read the same are one from now on, as far as they stand before the same node.
  void share_nodes() { shares_ = true; }
  // Nodes are asked for in the form of this opset, not in the newest: where the model's is as new, no schema is read
  // and nothing is refused.
  void ask_as_of(int64_t opset) { asked_opset_ = opset; }
  size_t num_nodes() const { return num_nodes_; }

  ops::Emit before(ir::Node* node) { return {*this, *node->graph(), node}; }
  ops::Emit after(ir::Node* node) { return {*this, *node->graph(), node->graph()->next(node)}; }
  ops::Emit at_end(ir::Graph& graph) { return {*this, graph, nullptr}; }
  // Before all nodes that the main graph has now.
  ops::Emit at_top() { return {*this, *model_.graph, top_}; }

 private:
  struct Form {
    ir::OperatorSchema here, asked;
  };
  const Form& form_of(const std::string& op);
  void lower(std::string_view op, std::vector<ir::Value*>& inputs, ops::Attributes& attributes);
  std::string name_of(std::string_view what) const;
  std::vector<ir::Value*> add(ir::Graph& graph, ir::Node* before, NodeSpec node);

  ir::Model& model_;
  std::string prefix_, origin_;
  int64_t opset_, asked_opset_ = 0;  // 0: the newest
  ir::Node* top_;
  bool shares_ = false;
  size_t num_nodes_ = 0;
  std::unordered_map<std::string, Form> forms_;
  std::unordered_map<std::string, ir::Value*> constants_;  // by type, dims and bytes
  using Made = std::tuple<const ir::Graph*, const ir::Node*, std::string, std::vector<ir::Value*>>;
  std::map<Made, ir::Value*> made_;
};

// A node of any domain at a position of a rewrite, whose writer is an Emitter. Its outputs, null where one is left out.
std::vector<ir::Value*> emit_node(const ops::Emit& at, NodeSpec node);

}  // namespace thaw::rewrite
