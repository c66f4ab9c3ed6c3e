#include "thaw/rewrite/submodel.h"

#include "thaw/rewrite/remove_unused.h"
#include "thaw/run/relax.h"

namespace thaw::rewrite {

std::unique_ptr<ir::Model> submodel_of(const ir::Model& model, const BoundaryValues& fed,
                                       const std::vector<std::string>& outputs) {
  std::unique_ptr<ir::Model> part = ir::clone(model);
  ir::Graph& graph = *part->graph;
  run::drop_declared_sizes(*part);
  while (!graph.outputs().empty()) graph.remove_output(static_cast<int>(graph.outputs().size()) - 1);
  for (const std::string& name : outputs) graph.add_output(graph.find(name));
  for (const auto& [name, type] : fed) {
    ir::Value* made = graph.find(name);
    if (!made || !made->producer()) continue;
    if (made->is_output()) continue;
    graph.rename(made, graph.unique_name(name + "_before"));
    graph.replace_uses(made, graph.add_input(name, type));
  }
  remove_unused(*part);
  const std::vector<ir::Value*> inputs = graph.inputs();
  for (ir::Value* input : inputs)
    if (!input->is_used()) graph.remove_input(input);
  ir::begin_own_run(*part);
  return part;
}

}  // namespace thaw::rewrite
