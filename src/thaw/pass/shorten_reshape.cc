#include "thaw/pass/shorten_reshape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/shape_chain.h"

namespace thaw::pass {

void shorten_reshapes(ir::Model& model, FixReport& report) {
  dim::Scope scope;
  infer::Result result = infer::infer(model, scope);
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    auto chain = infer::shape_chain(*node, result);
    if (!chain) continue;
    std::string name = graph.unique_name(node->output(0)->name() + "_shape");
    node->set_input(1, graph.add_initializer(
                           ir::Tensor::from_int64(name, {static_cast<int64_t>(chain->target.size())}, chain->target)));
    report.changed.push_back(
        {"THAW034", node->describe(),
         fmt::format("a chain of {} nodes becomes the constant [{}]", chain->nodes, fmt::join(chain->target, ", "))});
  }
}

}  // namespace thaw::pass
