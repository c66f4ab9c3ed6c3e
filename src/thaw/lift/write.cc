// Writing what was explained into the first trace's model.

#include <algorithm>
#include <iterator>

#include "thaw/dim/text/text.h"
#include "thaw/lift/loop/pack_windows.h"
#include "thaw/lift/steps.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

// How much of a mask is marked (Variable::Kind::kMarked), int64 [1].
ir::Value* emit_marked(TableEmitter& e, ir::Value* mask, int64_t axis) {
  ir::Value* marks = e.cast(mask, ir::DataType::kInt64);
  if (axis >= 0)
    marks = e.emit("Min", {e.emit("ReduceSum", {marks, e.list({axis})}, {{"keepdims", int64_t{0}}}), e.integer(1)});
  return e.emit("Reshape", {e.emit("ReduceSum", {marks}, {{"keepdims", int64_t{0}}}), e.list({1})});
}

void write_loops(const WindowLoops& group, Lifting& lifting) {
  rewrite::DimEmitter& sizes = *lifting.sizes;
  const Loop& first = *group.loops.front().first;
  TableEmitter e(sizes, first.traces[0].joins.front()), top(sizes);
  const int64_t axis = group.loops.front().second.slices.front().axis;
  ir::Value* positions = e.emit(
      "Slice", {e.emit("Shape", {first.traces[0].slices.front().node->input(0)}), e.list({axis}), e.list({axis + 1})});
  ir::Value* lengths = group.size ? emit_equal_windows(e, positions, *group.size) : group.fit->emit(top);
  const WindowNodes windows = emit_windows(e, lengths, positions);
  for (const auto& [loop, body] : group.loops) {
    TableEmitter there(sizes, loop->traces[0].joins.front());
    put_body(body, *loop, windows, there, *lifting.model().graph);
  }
}

}  // namespace

std::unordered_map<const ir::Value*, ops::Shape> input_shapes(const Lifting& l) {
  std::unordered_map<const ir::Value*, ops::Shape> shapes;
  for (const ir::Value* input : l.traces.front().model->graph->inputs()) {
    const bool is_added =
        std::ranges::any_of(l.options.added, [&](const AddedInput& a) { return a.name == input->name(); });
    if (!is_added && !input->initializer() && input->type.shape)
      shapes[input] = input_dims(*input, l.traces, l.variables);
  }
  return shapes;
}

void read_values(const Lifting& l, rewrite::DimEmitter& sizes) {
  TableEmitter emitter(sizes);
  for (const Variable& v : l.variables) {
    ir::Value* input = l.traces.front().model->graph->find(v.input);
    if (v.kind == Variable::Kind::kValue) sizes.read_from(v.symbol, input, v.index);
    if (v.kind == Variable::Kind::kMarked) sizes.read_from(v.symbol, emit_marked(emitter, input, v.index), 0);
  }
}

void declare_inputs(Lifting& l) {
  ir::Model& model = l.model();
  const std::unordered_map<const ir::Value*, ops::Shape> shapes = input_shapes(l);
  for (ir::Value* input : model.graph->inputs()) {
    const auto known = shapes.find(input);
    if (known == shapes.end()) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const dim::Dim size = known->second[axis];
      if (size.is_symbolic()) input->set_dim(axis, {std::nullopt, dim::to_string(size), {}});
    }
  }
  for (const AddedInput& added : l.options.added) {
    std::vector<ir::DeclaredDim> dims;
    for (const int64_t size : added.dims) dims.push_back({size, {}, {}});
    model.graph->add_input(added.name, ir::Type::tensor(added.type, std::move(dims)));
  }
  l.nodes.emplace(model, "lift");
  l.nodes->share_nodes();
  l.nodes->ask_as_of(kFormOpset);
  l.sizes.emplace(*l.nodes, model, shapes);
  read_values(l, *l.sizes);
  // What is left unsolved is as in the first trace.
  TableEmitter emitter(*l.sizes);
  for (const auto& [wanted, symbol] : l.solver->unsolved())
    l.sizes->read_from(symbol, emitter.list({wanted.front()}), 0);
}

void write_tables(Lifting& l) {
  TableEmitter emitter(*l.sizes);
  for (FittedTable& table : l.tables) {
    ir::Value* computed = table.fit.emit(emitter);
    table.written_by = emitter.take_asked();
    for (const Difference* reader : table.readers)
      l.model().graph->replace_uses(reader->node->input(reader->input), computed);
  }
  std::ranges::copy(emitter.limits(), std::back_inserter(l.limits));
  l.numbers_of_sizes = emitter.numbers_of_sizes();
}

void write_windows(Lifting& l) {
  for (const WindowLoops& group : l.windows) write_loops(group, l);
}

void declare_anew(Lifting& l) {
  ir::Model& model = l.model();
  for (const dim::Dim size : std::vector(l.sizes->emitted())) l.written.emplace_back(l.sizes->emit(size)->name(), size);
  if (!l.windows.empty()) model.graph->sort_topologically();
  rewrite::forget_declarations(*model.graph);
  for (ir::Value* output : model.graph->outputs()) {
    if (!output->type.shape) continue;
    for (size_t axis = 0; axis < output->type.shape->size(); ++axis) output->set_dim(axis, {});
  }
  rewrite::remove_unused(model);
  rewrite::declare_truly(model);
}

}  // namespace thaw::lifting
