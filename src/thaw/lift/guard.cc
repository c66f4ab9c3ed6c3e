#include "thaw/lift/guard.h"

#include <algorithm>
#include <set>

#include "thaw/ir/graph/insert_node.h"

namespace thaw::lift {
void guard_untold_values(ir::Model& model, std::span<const Variable> variables, pass::DimEmitter& sizes,
                         TableEmitter& e) {
  std::set<std::string> read;
  for (const ir::Value* input : model.graph->inputs())
    if (sizes.reads_values_of(input)) read.insert(input->name());
  // Squares do not cancel.
  dim::Dim distance = 0;
  for (const Variable& v : variables) {
    const bool is_told = v.kind == Variable::Kind::kMarked || v.varies() || !read.contains(v.input);
    if (is_told) continue;
    const dim::Dim off = v.symbol - dim::Dim(v.at.front());
    distance = distance + off * off;
  }
  if (!distance.is_symbolic() || !sizes.can_emit(distance)) return;
  ir::Graph& graph = *model.graph;
  const std::vector<ir::Value*> outputs = graph.outputs();
  const auto guarded = std::find_if(outputs.begin(), outputs.end(), [](const ir::Value* v) {
    return ir::is_floating(v->type.elem_type) && !v->is_input() && !v->initializer();
  });
  if (guarded == outputs.end()) return;
  // Past the end of a list of one zero, unless all is as it was. The zero goes into what the model gives.
  ir::Value* index = e.emit("Min", {e.size(distance), e.ints({1})});
  ir::Value* zero = e.cast(e.emit("Gather", {e.ints({0}), index}), (*guarded)->type.elem_type);
  ir::Value* output = *guarded;
  const std::string name = output->name();
  ir::Value* scalar = e.emit("Squeeze", {zero, e.ints({0})});
  ir::Value* checked = ir::insert_node(graph, nullptr, "Add", {output, scalar}, {}, "lift_guarded", "lift_guard");
  checked->type = output->type;
  graph.set_output(static_cast<int>(guarded - outputs.begin()), checked);
  graph.rename(output, graph.unique_name(name + "_unguarded"));
  graph.rename(checked, name);
}

}  // namespace thaw::lift
