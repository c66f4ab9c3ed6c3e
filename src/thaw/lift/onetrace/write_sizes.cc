#include "thaw/lift/onetrace/write_sizes.h"

#include <string>

#include "thaw/ir/graph/insert_node.h"

namespace thaw::lift::onetrace {

void write_sizes(ir::Model& model, const Constant& constant, const ops::Shape& sizes, pass::DimEmitter& emitter) {
  ir::Graph& graph = *model.graph;
  const ir::Value* made = constant.uses.front().node->output(0);
  const std::string name = made ? made->name() + "_sizes" : "sizes";
  ir::Value* value = sizes.size() == 1 ? emitter.emit(sizes.front()) : emitter.emit_shape(sizes, name);
  // What is emitted stands at the top, before all readers; what follows from it stands right behind it.
  ir::Node* before = value->producer() ? graph.next(value->producer()) : graph.nodes().front();
  if (constant.dims.size() != 1) {
    ir::Value* form = graph.add_initializer(ir::Tensor::from_int64(
        graph.unique_name(name + "_form"), {static_cast<int64_t>(constant.dims.size())}, constant.dims));
    value = ir::insert_node(graph, before, "Reshape", {value, form}, {}, name);
  }
  if (constant.type != ir::DataType::kInt64)
    value = ir::insert_node(graph, before, "Cast", {value}, {{"to", static_cast<int64_t>(constant.type)}}, name);
  for (const ir::Use& use : constant.uses) use.node->set_input(use.index, value);
}

}  // namespace thaw::lift::onetrace
