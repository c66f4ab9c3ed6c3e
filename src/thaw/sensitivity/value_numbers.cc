#include "thaw/sensitivity/value_numbers.h"

#include <functional>

#include "thaw/sensitivity/node_key.h"

namespace thaw::measuring {
namespace {

using Find = std::function<int(const std::string& key)>;

void append_number(std::string& key, int number) { key.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

int readers_of(const ir::Value& value) { return static_cast<int>(value.uses().size()) + (value.is_output() ? 1 : 0); }

ValueNumbers::Numbers number(const ir::Graph& graph, const Find& find) {
  ValueNumbers::Numbers numbers;
  std::string key;
  for (const ir::Value* input : graph.inputs()) numbers[input] = find("input " + input->name());
  for (const ir::Value* value : graph.initializers()) {
    if (value->is_input()) continue;
    key = "constant ";
    append_place(key, *value->initializer());
    numbers[value] = find(key);
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

}  // namespace

ValueNumbers::ValueNumbers(const ir::Model& model) {
  own_ = number(*model.graph, [&](const std::string& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  });
}

ValueNumbers::Numbers ValueNumbers::of(const ir::Model& other) const {
  return number(*other.graph, [&](const std::string& key) {
    const auto at = numbers_.find(key);
    return at == numbers_.end() ? kOther : at->second;
  });
}

}  // namespace thaw::measuring
