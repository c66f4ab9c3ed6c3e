#include "thaw/sensitivity/node_key.h"

#define XXH_INLINE_ALL
#include <unordered_map>

#include <xxhash.h>

#include "thaw/ir/graph/key_parts.h"

namespace thaw::measuring {
namespace {

using ir::append_list, ir::append_raw, ir::append_text;

void append_graph(std::string& key, const ir::Graph& graph, const AppendValue& outer,
                  const AppendTensor& append_tensor) {
  std::unordered_map<const ir::Value*, size_t> own;
  const auto add = [&](const ir::Value* value) {
    if (value) own.emplace(value, own.size());
  };
  const AppendValue reference = [&](std::string& to, const ir::Value& value) {
    if (const auto at = own.find(&value); at != own.end()) {
      append_text(to, "own");
      append_raw(to, at->second);
    } else if (value.graph() == &graph && value.initializer()) {
      append_tensor(to, *value.initializer());
    } else {
      outer(to, value);
    }
  };
  for (const ir::Value* input : graph.inputs()) add(input);
  append_raw(key, graph.inputs().size());
  for (const ir::Node* node : graph.nodes()) {
    append_node(key, *node, reference, append_tensor);
    for (const ir::Value* output : node->outputs()) add(output);
  }
  append_raw(key, graph.outputs().size());
  for (const ir::Value* output : graph.outputs()) reference(key, *output);
}

struct AppendPayload {
  std::string& key;
  const AppendValue& outer;
  const AppendTensor& append_tensor;

  void operator()(std::monostate) const {}
  void operator()(float number) const { append_raw(key, number); }
  void operator()(int64_t number) const { append_raw(key, number); }
  void operator()(const std::string& text) const { append_text(key, text); }
  void operator()(const std::shared_ptr<ir::Tensor>& tensor) const {
    if (tensor) append_tensor(key, *tensor);
  }
  void operator()(const std::shared_ptr<ir::Graph>& graph) const { append_graph(key, *graph, outer, append_tensor); }
  void operator()(const std::vector<float>& numbers) const { append_list(key, numbers); }
  void operator()(const std::vector<int64_t>& numbers) const { append_list(key, numbers); }
  void operator()(const std::vector<std::string>& texts) const {
    append_raw(key, texts.size());
    for (const std::string& text : texts) append_text(key, text);
  }
  void operator()(const std::vector<std::shared_ptr<ir::Tensor>>& tensors) const {
    for (const auto& tensor : tensors)
      if (tensor) append_tensor(key, *tensor);
  }
  void operator()(const std::vector<std::shared_ptr<ir::Graph>>& graphs) const {
    for (const auto& graph : graphs) append_graph(key, *graph, outer, append_tensor);
  }
  // Rare, and shared by copies of a model.
  void operator()(const std::shared_ptr<ir::SparseTensor>& tensor) const { append_raw(key, tensor.get()); }
  void operator()(const std::vector<std::shared_ptr<ir::SparseTensor>>& tensors) const {
    for (const auto& tensor : tensors) append_raw(key, tensor.get());
  }
  void operator()(const ir::Type& type) const { append_raw(key, type.elem_type); }
  void operator()(const std::vector<ir::Type>& types) const {
    for (const ir::Type& type : types) append_raw(key, type.elem_type);
  }
};

}  // namespace

void append_location(std::string& key, const ir::Tensor& tensor) {
  constexpr uint64_t kFewBytes = 1024, kSomeBytes = uint64_t{1} << 20;
  append_raw(key, tensor.data_type);
  append_list(key, tensor.dims);
  append_raw(key, tensor.storage());
  switch (tensor.storage()) {
    case ir::Tensor::Storage::kExternal:
      append_text(key, tensor.external()->location);
      append_raw(key, tensor.external()->offset);
      return;
    case ir::Tensor::Storage::kMade:
      append_raw(key, tensor.source());
      return;
    default:
      break;
  }
  if (tensor.data_type == ir::DataType::kString) {
    append_text(key, tensor.name);
    return;
  }
  const std::span<const std::byte> bytes = tensor.bytes();
  if (bytes.size() <= kFewBytes) {
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else if (tensor.storage() == ir::Tensor::Storage::kTyped) {
    append_text(key, tensor.name);  // each copy decodes it for itself
  } else if (bytes.size() <= kSomeBytes) {
    // Scales and biases: each conversion makes them anew.
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    append_raw(key, hash.high64);
    append_raw(key, hash.low64);
  } else {
    append_raw(key, bytes.data());
  }
}

void append_content(std::string& key, const ir::Tensor& tensor) {
  append_raw(key, tensor.data_type);
  append_list(key, tensor.dims);
  if (tensor.data_type == ir::DataType::kString) {
    for (const std::string& text : tensor.to_strings()) append_text(key, text);
    return;
  }
  const std::span<const std::byte> bytes = tensor.bytes();
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void append_node(std::string& key, const ir::Node& node, const AppendValue& operand, const AppendTensor& tensor) {
  append_text(key, node.op_type());
  append_text(key, node.domain());
  append_text(key, node.overload());
  append_raw(key, node.inputs().size());
  for (const ir::Value* input : node.inputs()) {
    append_raw(key, input != nullptr);
    if (input) operand(key, *input);
  }
  append_raw(key, node.outputs().size());
  for (const ir::Attribute* attribute : ir::attributes_by_name(node)) {
    append_text(key, attribute->name);
    append_text(key, attribute->ref_attr_name);
    append_raw(key, attribute->value.index());
    std::visit(AppendPayload{key, operand, tensor}, attribute->value);
  }
}

}  // namespace thaw::measuring
