#include "thaw/batch/graph_batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::batch {
namespace {

bool reads_samples(const State& state, const ir::Graph& graph);

bool reads_samples(const State& state, const ir::Node& node) {
  const auto inputs = node.inputs();
  if (std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* v) { return v && state.batched.contains(v); }))
    return true;
  const auto graphs = node.subgraphs();
  return std::any_of(graphs.begin(), graphs.end(), [&](const ir::Graph* g) { return reads_samples(state, *g); });
}

// Whether a graph, or one inside it, reads or returns what samples reach.
bool reads_samples(const State& state, const ir::Graph& graph) {
  for (const ir::Value* output : graph.outputs())
    if (state.batched.contains(output)) return true;
  for (const ir::Node* node : graph.nodes())
    if (reads_samples(state, *node)) return true;
  return false;
}

void batch_node(State& state, ir::Node& node) {
  NodeBatch n(state, node);
  const ops::Batching batching = ops::batching_of(node.domain(), node.op_type());
  NodeCounts& count = state.report.operators[node.op_type()];  // a rule may make another operator of it
  try {
    if (const Rule rule = rule_of(batching.kind)) {
      rule(n, batching);
    } else {
      NodeBatch::refuse(std::string(batching.why));
    }
  } catch (const CannotBatch& reason) {
    const bool has_graphs = !node.subgraphs().empty();
    if (!state.options.allow_loop || has_graphs) {
      throw Error(
          {.what = fmt::format("it cannot be batched, because {}", reason.why),
           .where = node.describe(),
           .expected = "an operator that treats samples apart",
           .next = has_graphs
                       ? "say with --inputs which inputs differ"
                       : "give --allow-loop to run it sample by sample, or --inputs to say which inputs differ"});
    }
    run_per_sample(n);
    state.report.loops.push_back({node.describe(), reason.why});
    ++count.loops;
    return;
  }
  ++(n.kept_as_it_was() ? state.report.kept : state.report.rewritten);
  ++(n.kept_as_it_was() ? count.kept : count.rewritten);
}

}  // namespace

void forget_shape(ir::Type& type) {
  type.shape.reset();
  if (!type.element) return;
  ir::Type element = *type.element;
  forget_shape(element);
  type.element = std::make_shared<const ir::Type>(std::move(element));
}

void batch_graph(State& state, ir::Graph& graph, ir::Node* first) {
  // Nodes that a rule adds stand before or after the one it looks at; only those that were there are walked.
  std::vector<ir::Node*> nodes;
  for (ir::Node* node = first; node; node = graph.next(node)) nodes.push_back(node);
  for (ir::Node* node : nodes) {
    if (reads_samples(state, *node)) {
      batch_node(state, *node);
    } else {
      ++state.report.untouched;
      ++state.report.operators[node->op_type()].untouched;
    }
  }
}

}  // namespace thaw::batch
