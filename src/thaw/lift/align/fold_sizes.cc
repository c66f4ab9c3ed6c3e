#include "thaw/lift/align/fold_sizes.h"

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {

void fold_sizes(ir::Model& model) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    if (node->constant()) continue;
    for (ir::Value* output : node->outputs()) {
      if (!output || output->is_output() || output->uses().empty()) continue;
      auto numbers = ops::known_numbers(facts.fact(output));
      if (!numbers) continue;
      numbers->name = graph.unique_name(output->name() + "_folded");
      graph.replace_uses(output, graph.add_initializer(std::move(*numbers)));
    }
  }
  rewrite::remove_unused(model);
}

}  // namespace thaw::lifting
