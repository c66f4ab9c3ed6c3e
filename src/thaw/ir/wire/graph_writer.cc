#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/reader.h"
#include "thaw/ir/wire/type_wire.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {
namespace {

std::string_view name_or_none(const Value* value) {
  return value ? std::string_view(value->name()) : std::string_view();
}

// Whether kept wire bytes of key-value entries say what the pairs say.
bool agrees(std::string_view wire, const std::vector<std::pair<std::string, std::string>>& pairs) {
  size_t i = 0;
  wire::Field field;
  for (wire::Reader reader(wire); reader.next(field); ++i) {
    const StringEntry entry = read_entry(field.bytes);
    if (i >= pairs.size() || entry.key != pairs[i].first || entry.value != pairs[i].second) return false;
  }
  return i == pairs.size();
}

void check_reads(const Graph& graph, const Value* value, const std::string& reader) {
  if (!value || value->graph() == &graph || graph.find_visible(value->name()) == value) return;
  throw Error(ErrorCode::kInternal,
              {.what = fmt::format("reads '{}' of another graph, which that name does not lead to", value->name()),
               .where = reader,
               .expected = "a value of this graph or an enclosing one, under a name of its own",
               .next = "rename the value that hides it"});
}

}  // namespace

void check_writable(const Graph& graph) {
  if (const Node* early = Graph::Editor::first_out_of_order(graph)) {
    throw Error(ErrorCode::kInternal, {.what = "stands before a node whose output it reads",
                                       .where = early->describe(),
                                       .expected = "nodes in topological order",
                                       .next = "call Graph::sort_topologically before saving"});
  }
  for (const Node* node : graph.nodes()) {
    for (const Value* input : node->inputs()) check_reads(graph, input, node->describe());
    for (const Graph* subgraph : node->subgraphs()) check_writable(*subgraph);
  }
  for (const Value* output : graph.outputs()) check_reads(graph, output, fmt::format("graph '{}'", graph.name));
}

void GraphWriter::write_model(const Model& model) {
  using namespace field::model;  // NOLINT(google-build-using-namespace): one message's numbers
  out_.raw(model.extra);
  if (model.ir_version != 0) out_.integer(kIrVersion, model.ir_version);
  out_.text(kProducerName, model.producer_name);
  out_.text(kProducerVersion, model.producer_version);
  if (model.graph) out_.message(kGraph, [&] { write_graph(*model.graph); });
  for (const OpsetImport& import : model.opset_imports) write_opset(kOpsetImport, import);
  if (!model.metadata_wire.empty() && agrees(model.metadata_wire, model.metadata_props)) {
    out_.raw(model.metadata_wire);
  } else {
    for (const auto& [key, value] : model.metadata_props) write_entry(kMetadata, key, value);
  }
  for (const auto& function : model.functions) out_.message(kFunctions, [&] { write_function(*function); });
}

void GraphWriter::write_graph(const Graph& graph) {
  using namespace field::graph;  // NOLINT(google-build-using-namespace): one message's numbers
  out_.raw(graph.extra);
  for (const Node* node : graph.nodes()) out_.message(kNode, [&] { write_node(*node); });
  out_.text(kName, graph.name);
  for (const Value* value : graph.initializers()) {
    if (plan_.as_inputs.contains(value)) continue;
    out_.message(kInitializer, [&] { TensorWriter::write(out_, *value->initializer(), plan_); });
  }
  for (const Value* value : graph.inputs()) write_value_info(kInput, value->name(), value->type, value->extra);
  for (const Value* value : graph.initializers())
    if (plan_.as_inputs.contains(value) && !value->is_input()) write_as_input(*value);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value* value = graph.outputs()[i];
    if (const Declaration* own = graph.storage_->output_declarations[i].get()) {
      write_value_info(kOutput, value->name(), own->holds() ? own->type : value->type, own->extra);
    } else {
      write_value_info(kOutput, value->name(), value->type, value->extra);
    }
  }
  write_value_infos(kValueInfo, graph);
  for (const TensorAnnotation& annotation : graph.quantization_annotations()) write_annotation(annotation);
  for (const Value* value : graph.sparse_initializers()) {
    out_.message(kSparseInitializer, [&] { TensorWriter::write_sparse(out_, *value->sparse_initializer(), plan_); });
  }
}

void GraphWriter::write_function(const Function& function) {
  using namespace field::function;  // NOLINT(google-build-using-namespace): one message's numbers
  const Graph& body = *function.body;
  if (!body.initializers().empty() || !body.sparse_initializers().empty()) {
    throw Error(ErrorCode::kInternal, {.what = "a function cannot hold initializers",
                                       .where = fmt::format("function '{}'", function.name),
                                       .expected = "Constant nodes",
                                       .next = "make its constants by nodes"});
  }
  out_.raw(function.extra);
  out_.text(kName, function.name);
  for (const Value* value : body.inputs()) out_.bytes(kInput, value->name());
  for (const Value* value : body.outputs()) out_.bytes(kOutput, value->name());
  for (const std::string& attribute : function.attributes) out_.bytes(kAttribute, attribute);
  for (const Node* node : body.nodes()) out_.message(kNode, [&] { write_node(*node); });
  for (const OpsetImport& import : function.opset_imports) write_opset(kOpsetImport, import);
  out_.text(kDomain, function.domain);
  for (const Attribute& attribute : function.attribute_defaults) {
    out_.message(kAttributeProto, [&] { write_attribute(attribute); });
  }
  write_value_infos(kValueInfo, body);
  out_.text(kOverload, function.overload);
}

void GraphWriter::write_node(const Node& node) {
  using namespace field::node;  // NOLINT(google-build-using-namespace): one message's numbers
  out_.raw(node.extra);
  for (const Value* value : node.inputs()) out_.bytes(kInput, name_or_none(value));
  for (const Value* value : node.outputs()) out_.bytes(kOutput, name_or_none(value));
  out_.text(kName, node.name);
  out_.text(kOpType, node.op_type());
  for (const Attribute& attribute : node.attributes()) out_.message(kAttribute, [&] { write_attribute(attribute); });
  out_.text(kDomain, node.domain());
  out_.text(kOverload, node.overload());
}

void GraphWriter::write_value_info(uint32_t number, const std::string& name, const Type& type, std::string_view extra) {
  out_.message(number, [&] {
    out_.raw(extra);
    out_.text(field::value_info::kName, name);
    if (is_declared(type)) out_.message(field::value_info::kType, [&] { write_type(out_, type); });
  });
}

void GraphWriter::write_as_input(const Value& value) {
  const Tensor& tensor = *value.initializer();
  Type type = Type::tensor(tensor.data_type);
  auto& shape = type.shape.emplace();
  for (const int64_t dim : tensor.dims) shape.push_back({dim, {}, {}});
  write_value_info(field::graph::kInput, value.name(), type, {});
}

void GraphWriter::write_value_infos(uint32_t number, const Graph& graph) {
  const auto& shadows = graph.storage_->shadows;
  for (const Value* value : graph.value_infos()) {
    const auto shadow = shadows.find(value);
    const bool follows = shadow != shadows.end() && !shadow->second.holds();
    write_value_info(number, value->name(), follows ? shadow->second.main->type : value->type, value->extra);
  }
}

void GraphWriter::write_annotation(const TensorAnnotation& annotation) {
  out_.message(field::graph::kAnnotation, [&] {
    if (!annotation.wire.empty()) {
      TensorAnnotation read;
      read_annotation(annotation.wire, read);
      if (read.tensor_name == annotation.tensor_name && read.parameters == annotation.parameters) {
        out_.raw(annotation.wire);
        return;
      }
    }
    out_.text(field::annotation::kTensorName, annotation.tensor_name);
    for (const auto& [key, value] : annotation.parameters) write_entry(field::annotation::kParameters, key, value);
  });
}

void GraphWriter::write_opset(uint32_t number, const OpsetImport& import) {
  out_.message(number, [&] {
    out_.raw(import.extra);
    out_.text(field::opset::kDomain, import.domain);
    if (import.version != 0) out_.integer(field::opset::kVersion, import.version);
  });
}

void GraphWriter::write_entry(uint32_t number, std::string_view key, std::string_view value) {
  out_.message(number, [&] {
    out_.bytes(field::entry::kKey, key);
    out_.bytes(field::entry::kValue, value);
  });
}

}  // namespace thaw::ir
