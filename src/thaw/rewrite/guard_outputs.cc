#include "thaw/rewrite/guard_outputs.h"

namespace thaw::rewrite {

bool guard_outputs(ir::Model& model, DimEmitter& sizes, dim::Dim distance) {
  const dim::Dim factor = dim::min(distance, 1) + 1;
  if (!sizes.can_emit(factor)) return false;
  ir::Value* times = sizes.emit(factor);
  ir::Graph& graph = *model.graph;
  const ops::Emit end = sizes.emitter().at_end(graph);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    ir::Value* output = graph.outputs()[i];
    if (output->is_input() || output->initializer() || output->type.kind != ir::Type::Kind::kTensor) continue;
    const bool has_axes = output->type.shape && !output->type.shape->empty();
    ir::Value* given = has_axes ? output : end.unsqueeze(output, {0});
    ir::Value* passed = end.reshape(given, end.mul(end.shape(given), times));
    if (!has_axes) passed = end.squeeze(passed, {0});
    const std::string name = output->name();
    passed->set_type(output->type);
    graph.set_output(static_cast<int>(i), passed);
    graph.rename(output, graph.unique_name(name + "_unguarded"));
    graph.rename(passed, name);
  }
  return true;
}

}  // namespace thaw::rewrite
