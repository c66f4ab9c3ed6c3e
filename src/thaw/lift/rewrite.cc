#include "thaw/lift/rewrite.h"

#include <algorithm>

#include "thaw/dim/text/text.h"
#include "thaw/lift/guard.h"
#include "thaw/lift/loop/pack_windows.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lift {
namespace {

// Inputs whose dims differ get names, added inputs come into being, and outputs and inner tensors are declared anew.
void declare_inputs(ir::Model& model, const Explanation& explanation, const std::vector<Trace>& traces,
                    const Options& options, std::unordered_map<const ir::Value*, ops::Shape>& shapes) {
  for (ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    shapes[input] = input_dims(*input, traces, explanation.variables());
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const dim::Dim size = shapes[input][axis];
      if (size.is_symbolic()) input->set_dim(axis, {std::nullopt, dim::to_string(size), {}});
    }
  }
  for (const AddedInput& added : options.added) {
    std::vector<ir::DeclaredDim> dims;
    for (const int64_t size : added.dims) dims.push_back({size, {}, {}});
    model.graph->add_input(added.name, ir::Type::tensor(added.type, std::move(dims)));
  }
}

// How much of a mask is marked (Variable::Kind::kMarked), int64 [1].
ir::Value* emit_marked(TableEmitter& e, ir::Value* mask, int64_t axis) {
  ir::Value* marks = e.cast(mask, ir::DataType::kInt64);
  if (axis >= 0)
    marks = e.emit("Min", {e.emit("ReduceSum", {marks, e.list({axis})}, {{"keepdims", int64_t{0}}}), e.integer(1)});
  return e.emit("Reshape", {e.emit("ReduceSum", {marks}, {{"keepdims", int64_t{0}}}), e.list({1})});
}

void roll(const LoopGroup& group, ir::Model& model, rewrite::DimEmitter& sizes, TableEmitter& top) {
  const Loop& first = *group.loops.front().first;
  TableEmitter e(sizes, first.traces[0].joins.front());
  const int64_t axis = group.loops.front().second.pieces.front().axis;
  ir::Value* positions = e.emit(
      "Slice", {e.emit("Shape", {first.traces[0].pieces.front().node->input(0)}), e.list({axis}), e.list({axis + 1})});
  ir::Value* lengths = group.size ? emit_equal_windows(e, positions, *group.size) : group.fit->emit(top);
  const WindowNodes windows = emit_windows(e, lengths, positions);
  for (const auto& [loop, body] : group.loops) {
    TableEmitter there(sizes, loop->traces[0].joins.front());
    put_body(body, *loop, windows, there, *model.graph);
  }
}

}  // namespace

void rewrite(std::vector<Trace>& traces, const Options& options, const Explanation& explanation) {
  ir::Model& model = *traces.front().model;
  std::unordered_map<const ir::Value*, ops::Shape> shapes;
  declare_inputs(model, explanation, traces, options, shapes);
  rewrite::Emitter nodes(model, "lift");
  nodes.share_nodes();
  rewrite::DimEmitter sizes(nodes, model, shapes);
  TableEmitter emitter(sizes);
  for (const Variable& v : explanation.variables()) {
    ir::Value* input = model.graph->find(v.input);
    if (v.kind == Variable::Kind::kValue) sizes.read_from(v.symbol, input, v.index);
    if (v.kind == Variable::Kind::kMarked) sizes.read_from(v.symbol, emit_marked(emitter, input, v.index), 0);
  }
  for (const Group& group : explanation.groups()) {
    ir::Value* computed = group.fit.emit(emitter);
    for (const Difference* reader : group.readers)
      model.graph->replace_uses(reader->node->input(reader->input), computed);
  }
  for (const LoopGroup& group : explanation.loop_groups()) roll(group, model, sizes, emitter);
  guard_untold_values(model, explanation.variables(), emitter);
  if (!explanation.loop_groups().empty()) model.graph->sort_topologically();
  rewrite::forget_declarations(*model.graph);
  for (ir::Value* output : model.graph->outputs()) {
    if (!output->type.shape) continue;
    for (size_t axis = 0; axis < output->type.shape->size(); ++axis) output->set_dim(axis, {});
  }
  rewrite::remove_unused(model);
  rewrite::declare_truly(model);
}

}  // namespace thaw::lift
