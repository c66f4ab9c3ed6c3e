#include "thaw/ir/graph/insert_node.h"

namespace thaw::ir {

Value* insert_node(Graph& graph, Node* before, std::string_view op, std::vector<Value*> inputs,
                   std::vector<Attribute> attributes, std::string_view name, std::string node_name) {
  Value* output = graph.add_value(graph.unique_name(name));
  if (node_name.empty()) node_name = output->name();
  Node* node = graph.add_node(std::string(op), "", std::move(inputs), {output}, std::move(node_name), before);
  for (Attribute& attribute : attributes) node->set_attribute(std::move(attribute));
  return output;
}

}  // namespace thaw::ir
