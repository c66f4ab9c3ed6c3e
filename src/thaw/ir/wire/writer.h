// The writer's parts. Internal to ir/.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/wire_encoder.h"

namespace thaw::ir {

inline constexpr size_t kChunk = size_t{4} << 20;  // large data goes out chunk by chunk

// Where the data of tensors goes when they are not written as they stand.
struct TensorPlan {
  std::unordered_map<const Tensor*, ExternalLocation> external;  // data that lies, or will lie, there
  bool inline_external = false;                                  // all other external data goes into the model file
  // Initializers of the main graph that are written as inputs, without their data (for the checker).
  std::unordered_set<const Value*> as_inputs;
};

class TensorWriter {
 public:
  static void write(wire::Encoder& out, const Tensor& tensor, const TensorPlan& plan);
  static void write_sparse(wire::Encoder& out, const SparseTensor& sparse, const TensorPlan& plan);
  static bool is_raw(const Tensor& tensor) { return tensor.has_raw_; }
  // Where a tensor's data come from, and how many bytes: equal for a tensor and its copies, whose data are the same.
  using Identity = std::pair<const void*, uint64_t>;
  static Identity identity(const Tensor& tensor);
  static const std::shared_ptr<ExternalFolder>& folder(const Tensor& tensor) { return tensor.folder_; }
};

class GraphWriter {
 public:
  GraphWriter(wire::Encoder& out, const TensorPlan& plan) : out_(out), plan_(plan) {}
  void write_model(const Model& model);

 private:
  void write_graph(const Graph& graph);
  void write_function(const Function& function);
  void write_node(const Node& node);
  void write_attribute(const Attribute& attribute);
  void write_value_info(uint32_t number, const std::string& name, const Type& type, std::string_view extra);
  void write_value_infos(uint32_t number, const Graph& graph);
  void write_as_input(const Value& value);
  void write_annotation(const TensorAnnotation& annotation);
  void write_opset(uint32_t number, const OpsetImport& import);
  void write_entry(uint32_t number, std::string_view key, std::string_view value);

  wire::Encoder& out_;
  const TensorPlan& plan_;
};

// The wire bytes of the model under a plan.
std::string serialize(const Model& model, const TensorPlan& plan);
// The same a chunk at a time, as serialize() of model.h.
void serialize(const Model& model, const TensorPlan& plan, const BeginBytes& begin, const PassBytes& pass_on);

// Throws when a graph cannot be written as it is: nodes out of order, names that would mean another value.
void check_writable(const Graph& graph);

// Calls visit(tensor) for the tensors that may hold external data: initializers and attributes, also of subgraphs.
template <typename Visit>
void for_each_tensor(const Graph& graph, Visit&& visit) {
  for (const Value* value : graph.initializers()) visit(*value->initializer());
  for (const Value* value : graph.sparse_initializers()) {
    visit(value->sparse_initializer()->values);
    visit(value->sparse_initializer()->indices);
  }
  for (const Node* node : graph.nodes()) {
    for (const Attribute& attribute : node->attributes()) {
      if (const auto* tensor = attribute.as<std::shared_ptr<Tensor>>()) {
        visit(**tensor);
      } else if (const auto* tensors = attribute.as<std::vector<std::shared_ptr<Tensor>>>()) {
        for (const auto& one : *tensors) visit(*one);
      } else if (const auto* subgraph = attribute.as<std::shared_ptr<Graph>>()) {
        for_each_tensor(**subgraph, visit);
      } else if (const auto* subgraphs = attribute.as<std::vector<std::shared_ptr<Graph>>>()) {
        for (const auto& one : *subgraphs) for_each_tensor(*one, visit);
      }
    }
  }
}

}  // namespace thaw::ir
