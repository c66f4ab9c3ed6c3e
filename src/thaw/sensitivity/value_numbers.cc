#include "thaw/sensitivity/value_numbers.h"

#include "thaw/sensitivity/node_key.h"

namespace thaw::measuring {
namespace {

void append_number(std::string& key, int number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

int readers_of(const ir::Value& value) { return static_cast<int>(value.uses().size()) + (value.is_output() ? 1 : 0); }

const std::byte* position_of(const ir::Tensor& tensor) {
  return tensor.storage() == ir::Tensor::Storage::kRaw ? tensor.bytes().data() : nullptr;
}

}  // namespace

int ValueNumbers::of_same_bytes(const ir::Tensor& tensor) const {
  const auto at = by_location_.find(position_of(tensor));
  if (at == by_location_.end()) return kOther;
  const ir::Tensor& own = *at->second->initializer();
  return own.data_type == tensor.data_type && own.dims == tensor.dims ? of(at->second) : kOther;
}

ValueNumbers::Numbers ValueNumbers::number(const ir::Graph& graph, const Find& find) const {
  Numbers numbers;
  std::string key;
  for (const ir::Value* input : graph.inputs()) numbers[input] = find("input " + input->name());
  for (const ir::Value* value : graph.initializers()) {
    if (value->is_input()) continue;
    int& number = numbers[value] = of_same_bytes(*value->initializer());
    if (number != kOther) continue;
    key = "constant ";
    append_location(key, *value->initializer());
    number = find(key);
  }
  for (const ir::Value* value : graph.sparse_initializers()) numbers[value] = find("sparse " + value->name());
  for (const ir::Node* node : graph.nodes()) {
    bool is_known = true;
    key = "node ";
    append_node(key, *node, [&](std::string& to, const ir::Value& value) {
      const auto at = numbers.find(&value);
      const int of = at == numbers.end() ? ValueNumbers::kOther : at->second;
      is_known = is_known && of != ValueNumbers::kOther;
      append_number(to, of);
      if (!value.constant() && !value.is_input()) append_number(to, readers_of(value));
    });
    for (size_t i = 0; i < node->outputs().size(); ++i)
      if (const ir::Value* output = node->outputs()[i])
        numbers[output] = is_known ? find(key + " " + std::to_string(i)) : ValueNumbers::kOther;
  }
  return numbers;
}

ValueNumbers::ValueNumbers(const ir::Model& model) {
  own_ = number(*model.graph, [&](const std::string& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  });
  for (const ir::Value* value : model.graph->initializers())
    if (const std::byte* position = value->is_input() ? nullptr : position_of(*value->initializer()))
      by_location_.emplace(position, value);
}

ValueNumbers::Numbers ValueNumbers::of(const ir::Model& other) const {
  return number(*other.graph, [&](const std::string& key) {
    const auto at = numbers_.find(key);
    return at == numbers_.end() ? kOther : at->second;
  });
}

}  // namespace thaw::measuring
