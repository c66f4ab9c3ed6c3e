#include "thaw/lift/align/fold_sizes.h"

#include <optional>
#include <set>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

// Whether a value is computed of constants alone.
bool is_computed_of_constants(const ir::Value* value) {
  constexpr size_t kMostNodes = 64;
  std::set<const ir::Node*> seen;
  std::vector<const ir::Value*> todo{value};
  while (!todo.empty()) {
    const ir::Value* each = todo.back();
    todo.pop_back();
    if (!each || each->constant()) continue;
    const ir::Node* node = each->producer();
    if (!node || !node->subgraphs().empty() || seen.size() == kMostNodes) return false;
    if (seen.insert(node).second) todo.insert(todo.end(), node->inputs().begin(), node->inputs().end());
  }
  return true;
}

}  // namespace

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

void fold_pads(ir::Model& model) {
  dim::Scope scope;
  std::optional<infer::Result> facts;
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    for (int i = 1; i < static_cast<int>(node->inputs().size()); ++i) {
      ir::Value* amounts = node->input(i);
      if (!amounts || amounts->constant() || ops::role_of(*node, i) != ops::Role::kPads) continue;
      if (!is_computed_of_constants(amounts)) continue;
      if (!facts) facts.emplace(infer::infer(model, scope));
      auto numbers = ops::known_numbers(facts->fact(amounts));
      if (!numbers) continue;
      numbers->name = graph.unique_name(amounts->name() + "_folded");
      node->set_input(i, graph.add_initializer(std::move(*numbers)));
    }
  }
  rewrite::remove_unused(model);
}

}  // namespace thaw::lifting
