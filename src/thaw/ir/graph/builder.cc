#include "thaw/ir/graph/builder.h"

#include <algorithm>

#include "thaw/core/error.h"

namespace thaw::ir {

Type tensor_type(DataType elem_type, const Dims& dims) {
  Type type = Type::tensor(elem_type);
  auto& shape = type.shape.emplace();
  for (const DimSpec& spec : dims) shape.push_back(spec.dim);
  return type;
}

Type tensor_type(DataType elem_type) { return Type::tensor(elem_type); }

Type sequence_type(Type element) {
  Type type;
  type.kind = Type::Kind::kSequence;
  type.element = std::make_shared<const Type>(std::move(element));
  return type;
}

std::string GraphBuilder::new_name(std::string name, std::string_view hint) {
  if (name.empty()) return names_->unique_name(hint);
  // A given name is taken as it is; asking for it keeps later ones away from it.
  static_cast<void>(names_->unique_name(name));
  return name;
}

Value* GraphBuilder::add_input(std::string name, Type type) {
  return graph_->add_input(new_name(std::move(name), "input"), std::move(type));
}

Value* GraphBuilder::add_input(std::string name, DataType elem_type, const Dims& dims) {
  return add_input(std::move(name), tensor_type(elem_type, dims));
}

Value* GraphBuilder::add_tensor(Tensor tensor) {
  tensor.name = new_name(std::move(tensor.name), "constant");
  return graph_->add_initializer(std::move(tensor));
}

Value* GraphBuilder::add_ints(std::string name, std::vector<int64_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return add_tensor(Tensor::from_int64(std::move(name), {size}, values));
}

Value* GraphBuilder::add_int(std::string name, int64_t value) {
  return add_tensor(Tensor::from_int64(std::move(name), {}, {&value, 1}));
}

Value* GraphBuilder::add_floats(std::string name, std::vector<int64_t> dims, std::span<const float> values) {
  return add_tensor(Tensor::from_float(std::move(name), std::move(dims), values));
}

Value* GraphBuilder::add_float(std::string name, float value) {
  return add_tensor(Tensor::from_float(std::move(name), {}, {&value, 1}));
}

Value* GraphBuilder::add_zeros(std::string name, DataType elem_type, std::vector<int64_t> dims) {
  Tensor shape;
  shape.name = name;
  shape.data_type = elem_type;
  shape.dims = dims;
  return add_tensor(
      Tensor::from_bytes(std::move(name), elem_type, std::move(dims), std::vector<std::byte>(shape.num_bytes())));
}

Value* GraphBuilder::add_node(std::string_view op_type, std::vector<Value*> inputs, std::vector<Attribute> attributes,
                              NodeOptions options) {
  return add_node(1, op_type, std::move(inputs), std::move(attributes), std::move(options)).front();
}

std::vector<Value*> GraphBuilder::add_node(int num_outputs, std::string_view op_type, std::vector<Value*> inputs,
                                           std::vector<Attribute> attributes, NodeOptions options) {
  std::vector<Value*> outputs;
  for (size_t i = 0; i < static_cast<size_t>(num_outputs); ++i) {
    if (i >= options.outputs.size()) {
      outputs.push_back(graph_->add_value(new_name({}, op_type)));
    } else if (options.outputs[i].empty()) {
      outputs.push_back(nullptr);
    } else {
      outputs.push_back(graph_->add_value(new_name(options.outputs[i], {})));
    }
  }
  if (options.name.empty()) {
    const auto named =
        std::find_if(outputs.begin(), outputs.end(), [](const Value* value) { return value != nullptr; });
    if (named != outputs.end()) options.name = (*named)->name();
  }
  Node* node = graph_->add_node(std::string(op_type), std::string(options.domain), std::move(inputs), outputs,
                                std::move(options.name));
  for (Attribute& attribute : attributes) node->set_attribute(std::move(attribute));
  if (!node->domain().empty() && !model_->opset(node->domain()))
    model_->opset_imports.push_back({node->domain(), 1, {}});
  return outputs;
}

void GraphBuilder::add_output(Value* value, std::string name) {
  if (!name.empty() && name != value->name()) value->graph()->rename(value, new_name(std::move(name), {}));
  graph_->add_output(value);
}

void GraphBuilder::add_output(Value* value, Type type, std::string name) {
  value->set_type(std::move(type));
  add_output(value, std::move(name));
}

std::shared_ptr<Graph> GraphBuilder::make_subgraph(std::string name, const std::function<void(GraphBuilder&)>& fill) {
  auto graph = std::make_shared<Graph>();
  graph->name = std::move(name);
  GraphBuilder builder(model_, graph.get(), names_);
  fill(builder);
  return graph;
}

namespace {

std::unique_ptr<Model> empty_model(int64_t ir_version) {
  auto model = std::make_unique<Model>();
  model->graph = std::make_unique<Graph>();
  model->graph->name = "graph";
  model->ir_version = ir_version;
  model->producer_name = "thaw";
  return model;
}

}  // namespace

ModelBuilder::ModelBuilder(std::unique_ptr<Model> model)
    : GraphBuilder(model.get(), model->graph.get(), model->graph.get()), owned_(std::move(model)) {}

ModelBuilder::ModelBuilder(int64_t opset, int64_t ir_version) : ModelBuilder(empty_model(ir_version)) {
  import_opset("", opset);
}

void ModelBuilder::import_opset(std::string_view domain, int64_t version) {
  if (domain == "ai.onnx") domain = "";
  for (OpsetImport& import : owned_->opset_imports) {
    if (import.domain == domain) {
      import.version = version;
      return;
    }
  }
  owned_->opset_imports.push_back({std::string(domain), version, {}});
}

std::unique_ptr<Model> ModelBuilder::build() {
  if (!owned_)
    throw Error(ErrorCode::kInternal, {.what = "the model was built already", .next = "make another ModelBuilder"});
  begin_run(*owned_);
  return std::move(owned_);
}

}  // namespace thaw::ir
