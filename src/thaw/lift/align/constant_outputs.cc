#include "thaw/lift/align/constant_outputs.h"

#include <algorithm>
#include <string>

#include "thaw/lift/align/same_node.h"

namespace thaw::lifting {
namespace {

const ir::Tensor* constant_output(const Trace& trace, size_t output) {
  const ir::Value* value = trace.model->graph->outputs()[output];
  return value->is_input() ? nullptr : value->constant();
}

void put_identity(ir::Graph& graph, size_t output) {
  ir::Value* table = graph.outputs()[output];
  const std::string name = table->name();
  const ir::Type type = table->type;
  ir::Value* result = graph.add_value(graph.unique_name(name + "_read"));
  graph.add_node("Identity", "", {table}, {result}, graph.unique_name(name + "_output"));
  graph.set_output(static_cast<int>(output), result);
  graph.rename(table, graph.unique_name(name + "_table"));
  graph.rename(result, name);
  result->set_type(type);
}

}  // namespace

void read_constant_outputs(std::vector<Trace>& traces) {
  const size_t count = traces.front().model->graph->outputs().size();
  for (const Trace& trace : traces)
    if (trace.model->graph->outputs().size() != count) return;
  for (size_t i = 0; i < count; ++i) {
    const ir::Tensor* first = constant_output(traces.front(), i);
    bool differs = false, all = first != nullptr;
    for (const Trace& trace : traces) {
      const ir::Tensor* there = constant_output(trace, i);
      all = all && there;
      differs |= all && !same_tensor(*first, *there);
    }
    for (Trace& trace : traces)
      if (all && differs) put_identity(*trace.model->graph, i);
  }
}

}  // namespace thaw::lifting
