#include "thaw/ir/graph/location.h"

#include <algorithm>
#include <vector>

namespace thaw::ir {
namespace {

std::string name_or_output(const Node& node) {
  if (!node.name.empty()) return node.name;
  for (const Value* output : node.outputs()) {
    if (output != nullptr) return output->name();
  }
  return {};
}

std::string attribute_holding(const Node& node, const Graph& graph) {
  for (const Attribute& attribute : node.attributes()) {
    if (const auto* one = attribute.as<std::shared_ptr<Graph>>(); one != nullptr && one->get() == &graph) {
      return attribute.name;
    }
    const auto* many = attribute.as<std::vector<std::shared_ptr<Graph>>>();
    if (many == nullptr) continue;
    const auto it = std::ranges::find(*many, &graph, &std::shared_ptr<Graph>::get);
    if (it != many->end()) return attribute.name + "[" + std::to_string(it - many->begin()) + "]";
  }
  return {};
}

}  // namespace

std::string operator_name(const Node& node) {
  return node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
}

const Graph& root_of(const Graph& graph) {
  const Graph* root = &graph;
  while (root->parent() != nullptr) root = root->parent();
  return *root;
}

std::string path_of(const Graph& graph) {
  std::vector<std::string> steps;  // innermost first
  for (const Graph* at = &graph; at->parent_node() != nullptr; at = at->parent_node()->graph()) {
    const Node& holder = *at->parent_node();
    steps.push_back(operator_name(holder) + " '" + name_or_output(holder) + "'." + attribute_holding(holder, *at));
  }
  std::string path;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) path += (path.empty() ? "" : " / ") + *step;
  return path;
}

Location location_of(const Node& node) {
  return {.node = name_or_output(node), .op = operator_name(node), .tensor = {}, .graph = path_of(*node.graph())};
}

Location location_of(const Value& value) {
  Location location;
  if (value.producer() != nullptr) {
    location = location_of(*value.producer());
  } else if (value.graph() != nullptr) {
    location.graph = path_of(*value.graph());
  }
  location.tensor = value.name();
  return location;
}

}  // namespace thaw::ir
