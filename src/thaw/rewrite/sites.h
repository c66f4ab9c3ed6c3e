// The positions that a pass of patches looks at: nodes of the main graph, and of the graphs inside it.
#pragma once

#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

// The main graph, then those with nodes that its own hold, at any depth, each before those inside it.
std::vector<ir::Graph*> all_graphs(ir::Graph& main);

// Calls work(node) for the nodes of the main graph in order, and then for those of the graphs inside it, whose facts are brought up
// to date at the end: linear in nodes. Returns the sum of what it returns, a bool or a number.
template <typename Work>
int for_sites(PassContext& context, Work work) {
  int count = 0;
  for (ir::Node* node : context.model.graph->nodes()) count += work(node);
  const std::vector<ir::Graph*> graphs = all_graphs(*context.model.graph);
  if (graphs.size() == 1) return count;
  // Nothing is freed meanwhile: what is made would take its address, and its facts.
  ir::Transaction held(context.model);
  infer::Inference& facts = context.facts();
  facts.pause();
  for (size_t i = 1; i < graphs.size(); ++i)
    for (ir::Node* node : graphs[i]->nodes()) count += work(node);
  facts.resume();
  held.keep();
  return count;
}

}  // namespace thaw::rewrite
