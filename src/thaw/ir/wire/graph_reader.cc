// Graphs and functions: what they define, then what their names mean.
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/reader.h"

namespace thaw::ir {

using wire::bytes_tag;
using wire::Field;
using wire::Reader;

void GraphReader::fail(std::string what, std::string where, std::string expected, std::string next) const {
  if (graph_ && graph_->parent_node_) {
    where += fmt::format("{}subgraph of {}", where.empty() ? "" : " in a ", graph_->parent_node_->describe());
  }
  throw Error(
      ErrorCode::kInvalidFile,
      {.what = std::move(what), .where = std::move(where), .expected = std::move(expected), .next = std::move(next)});
}

void GraphReader::name_is_taken(std::string_view name, const char* role) const {
  fail(fmt::format("the name '{}' of {} is taken by another value", name, role), {}, "each value made once",
       "export the model again");
}

Value* GraphReader::define_or_find(std::string_view name, const char* role) {
  if (name.empty()) fail(fmt::format("{} has no name", role), {}, "a name", "export the model again");
  Graph::Storage& storage = *graph_->storage_;
  Value* value = Graph::Editor::make_value(*graph_, std::string(name));
  Value* found = storage.names.find_or_insert(value);
  if (found != value) storage.values.retire(value);
  return found;
}

Value* GraphReader::define(std::string_view name, const char* role) {
  Value* value = define_or_find(name, role);
  if (value->producer_ || value->is_input_ || value->initializer_ || value->sparse_initializer_)
    name_is_taken(name, role);
  return value;
}

void GraphReader::read_graph(std::string_view bytes, Graph& graph) {
  using namespace field::graph;  // NOLINT(google-build-using-namespace): one message's numbers
  if (context_.depth == kMaxNesting) throw wire::Malformed{"graphs nest too deeply", bytes.data()};
  ++context_.depth;
  graph_ = &graph;
  std::vector<std::string_view> initializers, sparse_initializers;  // after the inputs, whose defaults they may be
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(kNode):
        read_node(field.bytes);
        break;
      case bytes_tag(kName):
        read_text(field, graph.name, graph.extra);
        break;
      case bytes_tag(kInitializer):
        initializers.push_back(field.bytes);
        break;
      case bytes_tag(kSparseInitializer):
        sparse_initializers.push_back(field.bytes);
        break;
      case bytes_tag(kInput):
        add_input(field.bytes);
        break;
      case bytes_tag(kOutput):
        outputs_.push_back(field.bytes);
        break;
      case bytes_tag(kValueInfo):
        value_infos_.push_back(field.bytes);
        break;
      case bytes_tag(kAnnotation):
        read_annotation(field.bytes, graph.quantization_annotations_.emplace_back());
        break;
      default:
        graph.extra.append(field.whole);
    }
  }
  for (const std::string_view initializer : initializers) add_initializer(initializer);
  for (const std::string_view initializer : sparse_initializers) add_sparse_initializer(initializer);
  --context_.depth;
}

void GraphReader::read_function(std::string_view bytes, Function& function) {
  using namespace field::function;  // NOLINT(google-build-using-namespace): one message's numbers
  is_function_ = true;
  function.body = std::make_unique<Graph>();
  graph_ = function.body.get();
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(kName):
        read_text(field, function.name, function.extra);
        break;
      case bytes_tag(kDomain):
        read_text(field, function.domain, function.extra);
        if (function.domain == "ai.onnx") {
          function.domain.clear();
          function.extra.append(field.whole);
        }
        break;
      case bytes_tag(kOverload):
        read_text(field, function.overload, function.extra);
        break;
      case bytes_tag(kInput): {
        Value* value = define(field.bytes, "a function's input");
        value->is_input_ = true;
        graph_->inputs_.push_back(value);
        break;
      }
      case bytes_tag(kOutput):
        outputs_.push_back(field.bytes);
        break;
      case bytes_tag(kAttribute):
        function.attributes.emplace_back(field.bytes);
        break;
      case bytes_tag(kAttributeProto):
        function.attribute_defaults.push_back(read_attribute(field.bytes, nullptr));
        break;
      case bytes_tag(kNode):
        read_node(field.bytes);
        break;
      case bytes_tag(kOpsetImport):
        function.opset_imports.push_back(read_opset(field.bytes));
        break;
      case bytes_tag(kValueInfo):
        value_infos_.push_back(field.bytes);
        break;
      default:
        function.extra.append(field.whole);
    }
  }
}

void GraphReader::read_value_info(std::string_view bytes, std::string_view& name, Type& type, std::string& extra) {
  MessagePart part;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(field::value_info::kName):
        name = field.bytes;
        if (name.empty()) extra.append(field.whole);
        break;
      case bytes_tag(field::value_info::kType):
        part.add(context_, field.bytes);
        break;
      default:
        extra.append(field.whole);
    }
  }
  if (part) type = read_type(part.bytes());
}

void read_annotation(std::string_view bytes, TensorAnnotation& annotation) {
  bool plain = true;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(field::annotation::kTensorName):
        annotation.tensor_name = field.bytes;
        plain = plain && !field.bytes.empty();
        break;
      case bytes_tag(field::annotation::kParameters): {
        const StringEntry entry = read_entry(field.bytes);
        annotation.parameters.emplace_back(entry.key, entry.value);
        plain = plain && entry.plain;
        break;
      }
      default:
        plain = false;
    }
  }
  if (!plain) annotation.wire = bytes;
}

void GraphReader::add_input(std::string_view bytes) {
  std::string_view name;
  Type type;
  std::string extra;
  read_value_info(bytes, name, type, extra);
  Value* value = define_or_find(name, "a graph input");
  if (value->is_input_ || value->initializer_ || (value->producer_ && !may_repeat(value)))
    name_is_taken(name, "a graph input");
  if (value->producer_) become_default(value, std::exchange(value->producer_, nullptr));
  value->type_ = std::move(type);
  value->extra = std::move(extra);
  value->is_input_ = true;
  graph_->inputs_.push_back(value);
}

void GraphReader::add_initializer(std::string_view bytes) {
  Tensor* tensor = graph_->storage_->tensors.make();
  TensorReader::read(context_, bytes, *tensor);
  // An input of that name has this as its default; anything else of that name is one too many.
  Value* value = define_or_find(tensor->name, "an initializer");
  if (value->initializer_ || value->producer_) return repeat_initializer(value, tensor);
  value->initializer_ = tensor;
  graph_->storage_->initializers.add(value);
}

void GraphReader::add_sparse_initializer(std::string_view bytes) {
  SparseTensor* tensor = graph_->storage_->sparse_tensors.make();
  *tensor = TensorReader::read_sparse(context_, bytes);
  Value* value = graph_->find(tensor->values.name);
  if (!value || !value->is_input_ || value->initializer_ || value->sparse_initializer_) {
    value = define(tensor->values.name, "a sparse initializer");
  }
  value->sparse_initializer_ = tensor;
  graph_->storage_->sparse_initializers.add(value);
}

void GraphReader::add_output(std::string_view name, Type type, std::string extra) {
  Value* value = graph_->find_visible(name);
  if (!value) {
    fail(fmt::format("the graph output '{}' is made by no node", name), {},
         "a node's output, an input or an initializer", "export the model again");
  }
  auto& declaration = graph_->storage_->output_declarations.emplace_back();
  if (value->graph_ != graph_ || value->is_input_ || value->output_count_ > 0) {
    declaration = std::make_unique<Declaration>();
    declaration->type = std::move(type);
    declaration->extra = std::move(extra);
    if (value->graph_ == graph_) {
      declaration->main = value;
      declaration->main_type = value->type;
    }
  } else {
    value->type_ = std::move(type);
    value->extra = std::move(extra);
  }
  graph_->outputs_.push_back(value);
  Graph::Editor::mark_output(*graph_, value);
}

void GraphReader::add_value_info(std::string_view bytes) {
  std::string_view name;
  Type type;
  std::string extra;
  read_value_info(bytes, name, type, extra);
  Value* value = name.empty() ? nullptr : graph_->find(name);
  const bool declared = !is_function_ && value && (value->is_input_ || value->is_output());
  if (value && !declared && value->value_info_slot_ < 0) {
    value->type_ = std::move(type);
    value->extra = std::move(extra);
    graph_->storage_->value_infos.add(value);
    return;
  }
  // A name without meaning, or a second declaration: a value apart.
  Value* shadow = Graph::Editor::make_value(*graph_, std::string(name));
  shadow->type_ = std::move(type);
  shadow->extra = std::move(extra);
  graph_->storage_->value_infos.add(shadow);
  Declaration& declaration = graph_->storage_->shadows[shadow];
  if (value) {
    declaration.main = value;
    declaration.main_type = value->type;
    graph_->storage_->shadows_of[value].push_back(shadow);
  }
}

void GraphReader::resolve() {
  size_t next = 0;
  for (Node* node : graph_->nodes()) {
    for (size_t i = 0; i < node->inputs_.size(); ++i) {
      const std::string_view name = input_names_[next++];
      if (name.empty()) continue;
      node->inputs_[i] = graph_->find_visible(name);
      if (!node->inputs_[i]) {
        fail(fmt::format("reads '{}', which nothing makes", name), node->describe(),
             "an input, an initializer or a node's output", "export the model again");
      }
      node->link(static_cast<int>(i));
    }
  }
  for (const std::string_view output : outputs_) {
    if (is_function_) {
      add_output(output, {}, {});
      continue;
    }
    std::string_view name;
    Type type;
    std::string extra;
    read_value_info(output, name, type, extra);
    add_output(name, std::move(type), std::move(extra));
  }
  for (const std::string_view value_info : value_infos_) add_value_info(value_info);
  for (GraphReader& subgraph : subgraphs_) subgraph.resolve();
  graph_->sort_topologically();
}

}  // namespace thaw::ir
