// Building models in code: for models made from a checkpoint, and for tests.
//
//   ModelBuilder m(/*opset=*/21);
//   Value* x = m.add_input("x", DataType::kFloat, {"n", 3, "height", "width"});
//   Value* w = m.add_floats("w", {16, 3, 3, 3}, weights);
//   Value* y = m.add_node("Conv", {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
//   m.add_output(m.add_node("Relu", {y}), "y");
//   std::unique_ptr<Model> model = m.build();
//
// Dims are integers, names, or kUnknownDim; a type without dims has an unknown rank. Values and nodes without a name
// get one after their operator (Conv, Conv_1, …). A domain other than ai.onnx is imported at version 1 when a node uses
// it, unless import_opset said otherwise. Nothing is inferred and nothing checked but names.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

struct UnknownDim {};
inline constexpr UnknownDim kUnknownDim;

// One dim of a declared shape.
struct DimSpec {
  template <std::integral T>
  DimSpec(T value)
      : dim{static_cast<int64_t>(value), {}, {}} {}           // NOLINT(google-explicit-constructor): so dims read as
  DimSpec(const char* name) : dim{std::nullopt, name, {}} {}  // NOLINT(google-explicit-constructor): {"n", 3}
  DimSpec(std::string name) : dim{std::nullopt, std::move(name), {}} {}  // NOLINT(google-explicit-constructor)
  DimSpec(UnknownDim) {}                                                 // NOLINT(google-explicit-constructor)
  DeclaredDim dim;
};
using Dims = std::vector<DimSpec>;

Type tensor_type(DataType elem_type, const Dims& dims);
Type tensor_type(DataType elem_type);  // of unknown rank
Type sequence_type(Type element);

// What add_node takes besides operator, inputs and attributes.
struct NodeOptions {
  std::string_view domain = {};
  std::string name = {};                  // of the node
  std::vector<std::string> outputs = {};  // names; "" leaves an output out, as its position must be kept
};

class GraphBuilder {
 public:
  Graph& graph() { return *graph_; }

  Value* add_input(std::string name, Type type);
  Value* add_input(std::string name, DataType elem_type, const Dims& dims);

  // Initializers. An empty name is replaced by a new one.
  Value* add_tensor(Tensor tensor);
  Value* add_ints(std::string name, std::vector<int64_t> values);  // int64, 1-D
  Value* add_int(std::string name, int64_t value);                 // int64, scalar
  Value* add_floats(std::string name, std::vector<int64_t> dims, std::span<const float> values);
  Value* add_float(std::string name, float value);  // scalar
  Value* add_zeros(std::string name, DataType elem_type, std::vector<int64_t> dims);

  // A node with one output; inputs may be null where one is left out.
  Value* add_node(std::string_view op_type, std::vector<Value*> inputs, std::vector<Attribute> attributes = {},
                  NodeOptions options = {});
  // The same with any number of outputs.
  std::vector<Value*> add_node(int num_outputs, std::string_view op_type, std::vector<Value*> inputs,
                               std::vector<Attribute> attributes = {}, NodeOptions options = {});

  // Makes a value an output, under a new name if one is given.
  void add_output(Value* value, std::string name = {});
  void add_output(Value* value, Type type, std::string name = {});

  // A graph for an attribute (If's branches, Loop's body). It may read this graph's values.
  std::shared_ptr<Graph> make_subgraph(std::string name, const std::function<void(GraphBuilder&)>& fill);

 protected:
  GraphBuilder(Model* model, Graph* graph, Graph* names) : model_(model), graph_(graph), names_(names) {}
  Model* model_;
  Graph* graph_;

 private:
  std::string new_name(std::string name, std::string_view hint);
  Graph* names_;  // the root, which keeps names apart across subgraphs that are not attached yet
};

class ModelBuilder : public GraphBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 21, int64_t ir_version = 10);

  // Sets the version of a domain ("" is ai.onnx).
  void import_opset(std::string_view domain, int64_t version);
  Model& model() { return *owned_; }
  std::unique_ptr<Model> build();  // once; sorts nothing and checks nothing

 private:
  explicit ModelBuilder(std::unique_ptr<Model> model);
  std::unique_ptr<Model> owned_;
};

}  // namespace thaw::ir
