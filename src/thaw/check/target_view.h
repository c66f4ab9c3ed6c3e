// A model as a target sees it: the nodes that it has to take, wherever they stand. Internal to check/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thaw/finding.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/target/target.h"

namespace thaw::checking {

struct TargetNode {
  const ir::Node* node = nullptr;
  const ir::Function* function = nullptr;  // whose body it stands in; null in the model's graph
  // To look its operator up at: the opset that the model imports, at most the newest that the target takes, since that
  // is what the model has to be converted to (THAW031). 0: the domain is not imported.
  int64_t opset = 0;
  // ONNX Runtime computes it when it loads the model, or takes it out: constants and what follows from nothing but
  // them, a Dropout that drops nothing, a branch that a constant leaves out. No execution provider sees it.
  bool at_load = false;
  bool control_flow = false;  // If, Loop, Scan, SequenceMap
  // It computes shapes alone, which ONNX Runtime leaves to the CPU for this target (ops::Target::shapes_on_cpu).
  bool on_cpu = false;
};

Location location_of(const TargetNode& node);

// What inference met as a value: once in the graph, in a function's body for each call that differs.
struct Met {
  std::optional<ops::ValueType> type;  // nullopt: not known, or of a type that no kernel takes
  bool tensor = false;
  bool ranked = false;
  bool operator==(const Met&) const = default;
};

class TargetView {
 public:
  // `inferred` is read as long as the view lives.
  TargetView(const ir::Model& model, const ops::Target& target, const infer::Result& inferred);

  const ops::Target& target() const { return target_; }
  // Calls of the model's own functions are not among them, the nodes of those functions are, each once.
  const std::vector<TargetNode>& nodes() const { return nodes_; }
  const std::vector<const ir::Function*>& functions() const { return functions_; }  // that are called
  std::vector<Met> met(const ir::Value* value) const;
  // As far as it is inferred of the value; of one in a function's body nothing is, for calls differ.
  const std::optional<ops::Shape>& shape(const ir::Value& value) const { return inferred_.fact(&value).shape; }
  // The type in which floats between a DequantizeLinear and a QuantizeLinear are stored; nullopt: it is no such tensor.
  std::optional<ops::ValueType> quantized_type(const ir::Value& value) const;
  // A constant, or what is computed from nothing but constants and fixed shapes when the model is loaded.
  bool is_constant(const ir::Value& value) const;
  // Whether all numbers of a constant are 0; nullopt for what is none, or whose data is missing.
  std::optional<bool> are_zeros(const ir::Value& value) const;

 private:
  void walk(const ir::Graph& graph, const ir::Function* function, bool never_runs);
  bool is_folded(const ir::Node& node) const;   // ONNX Runtime replaces it by what it makes
  bool is_decided(const ir::Node& node) const;  // an If whose branch a constant chooses, which takes its place
  bool drops_nothing(const ir::Node& node) const;
  const ir::Graph* unchosen_branch(const ir::Node& node) const;
  std::optional<double> number(const ir::Value& value) const;  // the one element of a value that is known
  // A node whose output is made of shapes, and of such outputs and constants alone.
  bool makes_shapes(const ir::Node& node) const;
  int64_t opset_of(const ir::Node& node, const ir::Function* function) const;
  void look_into_functions();

  const ir::Model& model_;
  const ops::Target& target_;
  const infer::Result& inferred_;
  std::vector<TargetNode> nodes_;
  std::vector<const ir::Function*> functions_;
  std::unordered_set<const ir::Function*> called_;
  std::unordered_set<const ir::Value*> folded_;                        // what nodes that are computed at load make
  std::unordered_set<const ir::Value*> shapes_;                        // what the CPU has made of shapes
  std::unordered_map<const ir::Value*, std::vector<Met>> met_inside_;  // values of functions' bodies
};

}  // namespace thaw::checking
