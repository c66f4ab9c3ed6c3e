#include "thaw/fix/shorten_reshape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/shape_chain.h"

namespace thaw::fix {

void shorten_reshapes(ir::Model& model, rewrite::Changes& changes) {
  dim::Scope scope;
  const infer::Result result = infer::infer(model, scope), literals = infer::infer_literals(model, scope);
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    auto chain = infer::shape_chain(*node, result, literals);
    if (!chain) continue;
    std::string name = graph.unique_name(node->output(0)->name() + "_shape");
    node->set_input(1, graph.add_initializer(
                           ir::Tensor::from_int64(name, {static_cast<int64_t>(chain->target.size())}, chain->target)));
    changes.made.push_back({"THAW034",
                            node->describe(),
                            {},
                            {{fmt::format("a chain of {} nodes", chain->nodes),
                              fmt::format("the constant [{}]", fmt::join(chain->target, ", "))}}});
  }
}

}  // namespace thaw::fix
