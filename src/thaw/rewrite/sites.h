// The places that a pass of patches looks at: nodes of the main graph, and of the graphs inside it.
#pragma once

#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::rewrite {

// The main graph, then those that its nodes hold, at any depth, each before those inside it.
std::vector<ir::Graph*> all_graphs(ir::Graph& main);

// Calls work(node) for the nodes of the main graph in order, and then for those of the graphs inside it, whose facts are brought up
// to date at the end: linear in nodes. Returns the sum of what it returns.
template <typename Work>
int for_sites(ir::Model& model, infer::Inference& facts, Work work) {
  int count = 0;
  for (ir::Node* node : model.graph->nodes()) count += work(node);
  ir::Transaction held(model);  // nothing is freed meanwhile: what is made would take its address, and its facts
  facts.pause();
  for (ir::Graph* graph : all_graphs(*model.graph))
    if (graph != model.graph.get())
      for (ir::Node* node : graph->nodes()) count += work(node);
  facts.resume();
  held.keep();
  return count;
}

}  // namespace thaw::rewrite
