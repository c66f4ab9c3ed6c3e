// Targets of Reshapes that are computed, where a constant of 0 and -1 says the same.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/shape_chain.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {

int write_reshape_targets(Context& context) {
  if (!context.frozen().empty()) return simplify(context, kept_sizes());
  const infer::Inference& facts = context.facts();
  std::vector<std::pair<ir::Node*, std::vector<int64_t>>> found;
  std::optional<infer::Result> literals;
  dim::Scope scope;
  const auto look_at = [&](ir::Node* node) {
    // What the shapes do not tell, with all elements that they do, the file's own numbers tell no better.
    if (!infer::has_computed_target(*node) || !infer::constant_target(*node, facts.result(), facts.result())) return;
    if (!literals) literals = infer::infer_literals(context.model, scope);
    if (auto target = infer::constant_target(*node, facts.result(), *literals))
      found.emplace_back(node, std::move(*target));
  };
  for (const ir::Graph* graph : rewrite::all_graphs(*context.model.graph))
    for (ir::Node* node : graph->nodes()) look_at(node);
  return rewrite::edit_as_one(context, [&] {
    for (auto& [node, target] : found) {
      ir::Graph& graph = *node->graph();
      const std::string name = graph.unique_name(node->output(0)->name() + "_shape");
      context.changes.made.push_back(
          {.kind = "write a shape",
           .location = node->describe(),
           .replaced = {{"a computed shape", fmt::format("[{}]", fmt::join(target, ", "))}}});
      infer::set_constant_target(
          *node, graph.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(target.size())}, target)));
    }
    return static_cast<int>(found.size());
  });
}

}  // namespace thaw::optimizing
