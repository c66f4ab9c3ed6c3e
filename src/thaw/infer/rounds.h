// How often the nodes of a model are run, those of graphs inside it too, as expressions of the inputs' sizes.
#pragma once

#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::infer {

// How often the node of the view runs that graph. Unknown where nothing tells. Of an If whose condition is not known, 1 for
// either branch: at most that.
inline dim::Dim rounds_of(ops::NodeView& view, const ir::Graph& inner) {
  const ops::Operator* op = ops::registry().find(view.node());
  return op && op->rounds ? op->rounds(view, inner) : dim::Dim();
}

template <typename Each>
void for_runs(const ir::Graph& graph, const ir::Model& model, const Result& facts, const Each& each,
              dim::Dim times = 1);

// Calls each(node, times) for the nodes of the graphs that `node` runs, itself run so often.
template <typename Each>
void for_runs_inside(const ir::Node& node, const ir::Model& model, const Result& facts, dim::Dim times,
                     const Each& each) {
  for (const ir::Graph* inner : node.subgraphs()) {
    NodeFacts view(facts, model, node);
    const dim::Dim rounds = rounds_of(view, *inner);
    for_runs(*inner, model, facts, each, rounds.is_constant(0) ? rounds : times * rounds);
  }
}

// Calls each(node, times) for the nodes of a graph that is run so often, and of the graphs inside it: times are unknown
// where nothing tells how often a node runs its graphs.
template <typename Each>
void for_runs(const ir::Graph& graph, const ir::Model& model, const Result& facts, const Each& each, dim::Dim times) {
  for (const ir::Node* node : graph.nodes()) {
    each(*node, times);
    for_runs_inside(*node, model, facts, times, each);
  }
}

}  // namespace thaw::infer
