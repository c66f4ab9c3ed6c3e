// Constant nodes as initializers.
#include <fmt/format.h>

#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

int list_in(ir::Graph& graph) {
  int count = 0;
  for (ir::Node* node : graph.nodes()) {
    for (ir::Graph* inner : node->subgraphs()) count += list_in(*inner);
    ir::Value* output = node->output(0);
    if (!node->constant() || !node->inputs().empty() || !output || output->is_output() ||
        !graph.returned_by(output).empty())
      continue;
    ir::Tensor tensor = *node->constant();
    tensor.name = output->name();
    tensor.extra.clear();
    graph.rename(output, graph.unique_name(tensor.name + "_node"));
    graph.replace_uses(output, graph.add_initializer(std::move(tensor)));
    graph.remove_node(node);
    ++count;
  }
  return count;
}

}  // namespace

int list_constants(Context& context) {
  if (context.model.ir_version < 4) return 0;  // each would have to be an input
  const int count = rewrite::edit_as_one(context, [&] { return list_in(*context.model.graph); });
  if (count == 0) return 0;
  context.look_again();
  context.changes.made.push_back(
      {.kind = "list constants",
       .location = "the model",
       .part = {},
       .replaced = {},
       .why = fmt::format("{} Constant node{} became initializers", count, count == 1 ? "" : "s")});
  return count;
}

}  // namespace thaw::optimizing
