#include "thaw/rewrite/splice.h"

#include <algorithm>

namespace thaw::rewrite {

bool can_splice(const ir::Graph& inner) {
  const auto nodes = inner.nodes();
  return inner.inputs().empty() && inner.sparse_initializers().empty() &&
         std::all_of(nodes.begin(), nodes.end(), [](const ir::Node* node) { return node->overload().empty(); });
}

ir::Node* copy_node(const ir::Node& node, ir::Graph& to, std::vector<ir::Value*> inputs,
                    std::vector<ir::Value*> outputs, std::string name, ir::Node* before) {
  ir::Node* copy =
      to.add_node(node.op_type(), node.domain(), std::move(inputs), std::move(outputs), std::move(name), before);
  copy->extra = node.extra;
  for (const ir::Attribute& attribute : std::vector(node.attributes().begin(), node.attributes().end()))
    copy->set_attribute(attribute);
  return copy;
}

std::string name_of(const ir::Node& node) {
  return node.name.empty() && node.output(0) ? node.output(0)->name() : node.name;
}

void splice(ir::Graph& inner, ir::Node* node, const std::string& prefix) {
  ir::Graph& outer = *node->graph();
  const auto take_name = [&](ir::Value* value) {
    const std::string name = value->name();
    inner.rename(value, outer.unique_name(name + "_inside"));
    return outer.unique_name(name);
  };
  for (ir::Value* value : std::vector<ir::Value*>(inner.initializers())) {
    ir::Tensor tensor = *value->initializer();
    tensor.name = take_name(value);
    inner.replace_uses(value, outer.add_initializer(std::move(tensor)));
  }
  const auto nodes = inner.nodes();
  const std::vector<ir::Node*> moved(nodes.begin(), nodes.end());
  for (ir::Node* from : moved) {
    const std::string name = prefix + "/" + name_of(*from);
    std::vector<ir::Value*> outputs;
    for (ir::Value* output : from->outputs()) outputs.push_back(output ? outer.add_value(take_name(output)) : nullptr);
    const std::vector<ir::Value*> inputs(from->inputs().begin(), from->inputs().end());
    copy_node(*from, outer, inputs, outputs, name, node);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]) inner.replace_uses(from->outputs()[i], outputs[i]);
  }
  // What stays behind would hold the same graphs as the copies, and whoever walks both would walk twice as far with each
  // level of nesting.
  std::for_each(moved.rbegin(), moved.rend(), [&](ir::Node* from) { inner.remove_node(from); });
}

void replace_node(ir::Node* node, const std::vector<ir::Value*>& results) {
  ir::Graph& graph = *node->graph();
  for (int i = 0; i < static_cast<int>(results.size()); ++i) {
    ir::Value* output = node->output(i);
    if (!output) continue;
    if (output->is_output()) {
      graph.release_output(node, i);
      graph.add_node("Identity", "", {results[static_cast<size_t>(i)]}, {output},
                     graph.unique_name(output->name() + "_result"), node);
    } else {
      graph.replace_uses(output, results[static_cast<size_t>(i)]);
    }
  }
  graph.remove_node(node);
}

}  // namespace thaw::rewrite
