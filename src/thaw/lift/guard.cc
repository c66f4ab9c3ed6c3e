// Values that were the same in every trace: what the model does at others is not told.
//
// Where sizes are read from the values of an input (grid_thw), and some of them never differed (one frame), every output
// of the lifted model ends with an error of Gather at any other, before a wrong number leaves it.
#include <algorithm>
#include <set>

#include "thaw/lift/steps.h"

namespace thaw::lifting {

void guard_untold_values(Lifting& l) {
  ir::Model& model = l.model();
  TableEmitter e(*l.sizes);
  std::set<std::string> read;
  for (const ir::Value* input : model.graph->inputs())
    if (e.sizes().reads_values_of(input)) read.insert(input->name());
  // Squares do not cancel.
  dim::Dim distance = 0;
  for (const Variable& v : l.variables) {
    const bool is_told = v.kind == Variable::Kind::kMarked || v.varies() || !read.contains(v.input);
    if (is_told) continue;
    const dim::Dim off = v.symbol - dim::Dim(v.at.front());
    distance = distance + off * off;
  }
  if (!distance.is_symbolic() || !e.sizes().can_emit(distance)) return;
  // An output is the only entry of a list of one, unless all is as it was: then it is looked for past the list's end.
  ir::Value* index = e.reshape(e.emit("Min", {e.size(distance), e.list({1})}), e.list({}));
  ir::Graph& graph = *model.graph;
  const ops::Emit end = e.sizes().emitter().at_end(graph);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ir::Value* output = graph.outputs()[i];
    if (output->is_input() || output->initializer() || output->type.kind != ir::Type::Kind::kTensor) continue;
    const std::string name = output->name();
    ir::Value* checked = end.emit("Gather", {end.unsqueeze(output, {0}), index}, {{"axis", int64_t{0}}});
    checked->set_type(output->type);
    graph.set_output(static_cast<int>(i), checked);
    graph.rename(output, graph.unique_name(name + "_unguarded"));
    graph.rename(checked, name);
  }
}

}  // namespace thaw::lifting
