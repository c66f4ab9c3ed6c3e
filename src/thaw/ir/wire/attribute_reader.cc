// Attributes, and what a node is besides its inputs.
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/reader.h"

namespace thaw::ir {
namespace {

namespace kind = field::attribute_type;
using wire::bytes_tag;
using wire::Field;
using wire::fixed32_tag;
using wire::Reader;
using wire::varint_tag;

// The type of the value that a field holds; kUndefined for other fields.
int32_t type_of_field(uint32_t tag) {
  using namespace field::attribute;  // NOLINT(google-build-using-namespace): one message's numbers
  switch (tag) {
    case fixed32_tag(kFloat):
      return kind::kFloat;
    case varint_tag(kInt):
      return kind::kInt;
    case bytes_tag(kString):
      return kind::kString;
    case bytes_tag(kTensor):
      return kind::kTensor;
    case bytes_tag(kGraph):
      return kind::kGraph;
    case fixed32_tag(kFloats):
    case bytes_tag(kFloats):
      return kind::kFloats;
    case varint_tag(kInts):
    case bytes_tag(kInts):
      return kind::kInts;
    case bytes_tag(kStrings):
      return kind::kStrings;
    case bytes_tag(kTensors):
      return kind::kTensors;
    case bytes_tag(kGraphs):
      return kind::kGraphs;
    case bytes_tag(kSparseTensor):
      return kind::kSparseTensor;
    case bytes_tag(kSparseTensors):
      return kind::kSparseTensors;
    case bytes_tag(kTypeProto):
      return kind::kTypeProto;
    case bytes_tag(kTypeProtos):
      return kind::kTypeProtos;
    default:
      return kind::kUndefined;
  }
}

const char* text_of_type(int32_t type) {
  static constexpr const char* kNames[] = {"no value", "a float",         "an integer",     "a string", "a tensor",
                                           "a graph",  "floats",          "integers",       "strings",  "tensors",
                                           "graphs",   "a sparse tensor", "sparse tensors", "a type",   "types"};
  return kNames[type];
}

// The default value of a type, which a file may leave out.
Attribute::Payload default_of(int32_t type) {
  switch (type) {
    case kind::kFloat:
      return 0.0F;
    case kind::kInt:
      return int64_t{0};
    case kind::kString:
      return std::string();
    case kind::kFloats:
      return std::vector<float>();
    case kind::kInts:
      return std::vector<int64_t>();
    case kind::kStrings:
      return std::vector<std::string>();
    case kind::kTensors:
      return std::vector<std::shared_ptr<Tensor>>();
    case kind::kGraphs:
      return std::vector<std::shared_ptr<Graph>>();
    case kind::kSparseTensors:
      return std::vector<std::shared_ptr<SparseTensor>>();
    case kind::kTypeProtos:
      return std::vector<Type>();
    default:
      return std::monostate();
  }
}

// A name that two attributes have; null if there is none.
const std::string* repeated_name(std::span<const Attribute> attributes) {
  constexpr size_t kFew = 16;
  if (attributes.size() <= kFew) {
    for (size_t i = 1; i < attributes.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (attributes[i].name == attributes[j].name) return &attributes[i].name;
      }
    }
    return nullptr;
  }
  std::unordered_set<std::string_view> names;
  for (const Attribute& attribute : attributes) {
    if (!names.insert(attribute.name).second) return &attribute.name;
  }
  return nullptr;
}

}  // namespace

Attribute GraphReader::read_attribute(std::string_view bytes, Node* node) {
  using namespace field::attribute;  // NOLINT(google-build-using-namespace): one message's numbers
  Attribute attribute;
  // The type stands after the value, so it is looked for first; without one (IR version 1) the value tells.
  int32_t type = kind::kUndefined, first_value = kind::kUndefined, other_value = kind::kUndefined;
  bool typed = false;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(kName):
        read_text(field, attribute.name, attribute.extra);
        break;
      case bytes_tag(kRefAttrName):
        read_text(field, attribute.ref_attr_name, attribute.extra);
        break;
      case varint_tag(kType):
        type = field.as_int32();
        typed = true;
        break;
      default:
        if (const int32_t found = type_of_field(field.tag); found == kind::kUndefined) {
          attribute.extra.append(field.whole);
        } else if (first_value == kind::kUndefined) {
          first_value = found;
        } else if (found != first_value) {
          other_value = found;
        }
    }
  }
  if (attribute.name.empty()) {
    fail("an attribute has no name", node ? node->describe() : std::string(), "a name", "export the model again");
  }
  attribute.type = type;
  attribute.untyped = !typed;
  if (typed && type == kind::kUndefined) {
    // Written as 0: kept so, and nothing else is written for it.
    attribute.extra.append({static_cast<char>(0xa0), 0x01, 0x00});
    attribute.untyped = true;
  }
  if (!attribute.ref_attr_name.empty()) {
    type = kind::kUndefined;  // its value comes from the function's caller
  } else if (type == kind::kUndefined) {
    if (other_value != kind::kUndefined) {
      // Which one counts would hang on the order in which they stand.
      fail(fmt::format("has {} and {} in the attribute '{}'", text_of_type(first_value), text_of_type(other_value),
                       attribute.name),
           node ? node->describe() : std::string(), "one value, or a type that says which one counts",
           "export the model again");
    }
    type = first_value;
  }
  read_payload(bytes, type, attribute, node);
  return attribute;
}

void GraphReader::read_payload(std::string_view bytes, int32_t type, Attribute& attribute, Node* node) {
  using namespace field::attribute;  // NOLINT(google-build-using-namespace): one message's numbers
  attribute.value = default_of(type);
  attribute.implicit = true;
  MessagePart part;  // of a tensor, graph, sparse tensor or type
  Field field;
  // A list without items is not written for its value, but tells the type where nothing else does.
  const auto keep_type = [&] {
    if (attribute.untyped) attribute.extra.append(field.whole);
  };
  for (Reader reader(bytes); reader.next(field);) {
    const int32_t found = type_of_field(field.tag);
    if (found == kind::kUndefined) continue;
    if (found != type) {
      attribute.extra.append(field.whole);
      continue;
    }
    attribute.implicit = false;
    switch (field.tag) {
      case fixed32_tag(kFloat):
        attribute.value = field.as_float();
        break;
      case varint_tag(kInt):
        attribute.value = field.as_int64();
        break;
      case bytes_tag(kString):
        attribute.value = std::string(field.bytes);
        break;
      case bytes_tag(kTensor):
      case bytes_tag(kGraph):
      case bytes_tag(kSparseTensor):
      case bytes_tag(kTypeProto):
        part.add(context_, field.bytes);
        break;
      case fixed32_tag(kFloats):
        std::get<std::vector<float>>(attribute.value).push_back(field.as_float());
        break;
      case bytes_tag(kFloats):
        if (field.bytes.empty()) keep_type();
        for (Reader packed(field.bytes); !packed.done();) {
          std::get<std::vector<float>>(attribute.value).push_back(packed.fixed<float>());
        }
        break;
      case varint_tag(kInts):
        std::get<std::vector<int64_t>>(attribute.value).push_back(field.as_int64());
        break;
      case bytes_tag(kInts):
        if (field.bytes.empty()) keep_type();
        for (Reader packed(field.bytes); !packed.done();) {
          std::get<std::vector<int64_t>>(attribute.value).push_back(static_cast<int64_t>(packed.varint()));
        }
        break;
      case bytes_tag(kStrings):
        std::get<std::vector<std::string>>(attribute.value).emplace_back(field.bytes);
        break;
      case bytes_tag(kTensors):
        std::get<std::vector<std::shared_ptr<Tensor>>>(attribute.value)
            .push_back(std::make_shared<Tensor>(TensorReader::read(context_, field.bytes)));
        break;
      case bytes_tag(kGraphs):
        std::get<std::vector<std::shared_ptr<Graph>>>(attribute.value).push_back(read_subgraph(field.bytes, node));
        break;
      case bytes_tag(kSparseTensors):
        std::get<std::vector<std::shared_ptr<SparseTensor>>>(attribute.value)
            .push_back(std::make_shared<SparseTensor>(TensorReader::read_sparse(context_, field.bytes)));
        break;
      case bytes_tag(kTypeProtos):
        std::get<std::vector<Type>>(attribute.value).push_back(read_type(field.bytes));
        break;
      default:
        break;
    }
  }
  if (!part) return;
  switch (type) {
    case kind::kTensor:
      attribute.value = std::make_shared<Tensor>(TensorReader::read(context_, part.bytes()));
      break;
    case kind::kGraph:
      attribute.value = read_subgraph(part.bytes(), node);
      break;
    case kind::kSparseTensor:
      attribute.value = std::make_shared<SparseTensor>(TensorReader::read_sparse(context_, part.bytes()));
      break;
    default:
      attribute.value = read_type(part.bytes());
  }
}

std::shared_ptr<Graph> GraphReader::read_subgraph(std::string_view bytes, Node* node) {
  auto graph = std::make_shared<Graph>();
  if (node) {
    graph->parent_ = graph_;
    graph->parent_node_ = node;
    graph_->storage_->with_subgraphs.insert(node);
  }
  subgraphs_.emplace_back(context_).read_graph(bytes, *graph);
  return graph;
}

void GraphReader::read_node(std::string_view bytes) {
  namespace number = field::node;
  Node* node = Graph::Editor::make_node(*graph_, nullptr);
  std::vector<std::string_view> attributes;  // read last: messages about them name the node
  size_t inputs = 0;
  Value* repeated = nullptr;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(number::kInput):
        input_names_.push_back(field.bytes);
        ++inputs;
        break;
      case bytes_tag(number::kOutput): {
        Value* value = nullptr;
        if (!field.bytes.empty()) {
          value = define_or_find(field.bytes, "a node's output");
          if (repeated || (value->producer_ && !may_repeat(value))) name_is_taken(field.bytes, "a node's output");
          if (value->producer_ || value->is_input_) repeated = std::exchange(value, nullptr);
        }
        if (value) {
          value->producer_ = node;
          value->producer_index_ = static_cast<int>(node->outputs_.size());
        }
        node->outputs_.push_back(value);
        break;
      }
      case bytes_tag(number::kName):
        read_text(field, node->name, node->extra);
        break;
      case bytes_tag(number::kOpType):
        node->op_type_ = field.bytes;
        break;
      case bytes_tag(number::kDomain):
        read_text(field, node->domain_, node->extra);
        if (node->domain_ == "ai.onnx") {
          node->domain_.clear();
          node->extra.append(field.whole);
        }
        break;
      case bytes_tag(number::kOverload):
        read_text(field, node->overload_, node->extra);
        break;
      case bytes_tag(number::kAttribute):
        attributes.push_back(field.bytes);
        break;
      default:
        node->extra.append(field.whole);
    }
  }
  if (node->op_type_.empty()) fail("has no operator", node->describe(), "op_type", "export the model again");
  node->inputs_.resize(inputs);
  node->use_slots_.resize(inputs, Node::kNoSlot);
  node->attributes_.reserve(attributes.size());
  for (const std::string_view attribute : attributes) node->attributes_.push_back(read_attribute(attribute, node));
  if (const std::string* name = repeated_name(node->attributes_)) {
    fail(fmt::format("has the attribute '{}' twice", *name), node->describe(), "each attribute once",
         "export the model again");
  }
  node->update_constant();
  if (repeated) repeat_constant(node, repeated);
}

}  // namespace thaw::ir
