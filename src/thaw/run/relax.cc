#include "thaw/run/relax.h"

#include <vector>

namespace thaw::run {

void drop_declared_sizes(ir::Model& model) {
  std::vector<ir::Graph*> waiting{model.graph.get()};
  while (!waiting.empty()) {
    ir::Graph* graph = waiting.back();
    waiting.pop_back();
    const std::vector<ir::Value*> declared = graph->value_infos();  // a copy: clearing edits the list
    for (ir::Value* value : declared) graph->clear_value_info(value);
    for (ir::Value* output : graph->outputs()) {
      if (!output->is_input()) output->forget_shape();
    }
    for (ir::Value* input : graph->inputs()) {
      if (!input->type.shape) continue;
      for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
        const ir::DeclaredDim& dim = (*input->type.shape)[axis];
        input->set_dim(axis, {dim.value, {}, dim.denotation});
      }
    }
    for (const ir::Node* node : graph->nodes()) {
      for (const ir::Attribute& attribute : node->attributes()) {
        if (const auto* one = attribute.as<std::shared_ptr<ir::Graph>>()) waiting.push_back(one->get());
        if (const auto* many = attribute.as<std::vector<std::shared_ptr<ir::Graph>>>()) {
          for (const auto& subgraph : *many) waiting.push_back(subgraph.get());
        }
      }
    }
  }
}

}  // namespace thaw::run
