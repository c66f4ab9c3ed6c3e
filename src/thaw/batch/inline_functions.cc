#include "thaw/batch/inline_functions.h"

#include <algorithm>

#include "thaw/batch/dependence.h"
#include "thaw/ir/graph/function_calls.h"
#include "thaw/rewrite/inline_call.h"

namespace thaw::batching {
namespace {

// Calls that samples reach; in a subgraph too.
void collect_calls(const ir::Model& model, const ir::Graph& graph, const Dependence& dependence,
                   std::vector<ir::Node*>& calls) {
  for (ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) collect_calls(model, *inner, dependence, calls);
    if (!model.find_function(node->domain(), node->op_type(), node->overload())) continue;
    const auto inputs = node->inputs();
    if (std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* v) { return v && dependence.contains(v); }))
      calls.push_back(node);
  }
}

}  // namespace

void inline_functions(ir::Model& model, std::span<ir::Value* const> inputs) {
  if (model.functions.empty()) return;
  ir::refuse_recursion(model);
  for (bool more = true; more;) {
    Dependence dependence(inputs, model.budget);
    dependence.follow(*model.graph);
    std::vector<ir::Node*> calls;
    collect_calls(model, *model.graph, dependence, calls);
    more = false;
    for (ir::Node* call : calls) more |= rewrite::inline_call(model, call);
  }
}

}  // namespace thaw::batching
