// Calls of the model's own functions become the nodes of their bodies.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "thaw/ir/graph/function_calls.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/inline_call.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::optimizing {
namespace {

void collect_calls(const ir::Model& model, const ir::Graph& graph, std::vector<ir::Node*>& calls) {
  for (ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) collect_calls(model, *inner, calls);
    if (model.find_function(node->domain(), node->op_type(), node->overload())) calls.push_back(node);
  }
}

void collect_called(const ir::Model& model, const ir::Graph& graph, std::unordered_set<const ir::Function*>& called) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) collect_called(model, *inner, called);
    const ir::Function* function = model.find_function(node->domain(), node->op_type(), node->overload());
    if (function && called.insert(function).second) collect_called(model, *function->body, called);
  }
}

void forget_uncalled(ir::Model& model) {
  std::unordered_set<const ir::Function*> called;
  collect_called(model, *model.graph, called);
  std::erase_if(model.functions, [&](const auto& function) { return !called.contains(function.get()); });
  model.index_functions();
}

}  // namespace

int inline_functions(Context& context) {
  ir::Model& model = context.model;
  if (model.functions.empty()) return 0;
  ir::refuse_recursion(model);
  const int count = rewrite::edit_as_one(context, [&] {
    int inlined = 0;
    for (bool more = true; more;) {
      more = false;
      std::vector<ir::Node*> calls;
      collect_calls(model, *model.graph, calls);
      for (ir::Node* call : calls) {
        const std::string location = call->describe(), name = call->op_type();
        if (!rewrite::inline_call(model, call)) continue;
        context.changes.made.push_back(
            {.kind = "inline a function", .location = location, .replaced = {{name, "its body"}}});
        more = true;
        ++inlined;
      }
    }
    return inlined;
  });
  if (count > 0) {
    forget_uncalled(model);
    rewrite::remove_unused_domains(model);
    context.look_again();
  }
  return count;
}

}  // namespace thaw::optimizing
