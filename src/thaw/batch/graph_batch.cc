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

const ir::Graph* decided_branch(NodeBatch& n) {
  const auto condition = n.constant_ints(0);
  if (!condition || condition->size() != 1) return nullptr;
  const ir::Attribute* branch = n.node().attribute(condition->front() != 0 ? "then_branch" : "else_branch");
  const auto* graph = branch ? branch->as<std::shared_ptr<ir::Graph>>() : nullptr;
  return graph ? graph->get() : nullptr;
}

// Both branches return samples in the leading form, so that it does not matter which one runs.
void batch_if(State& state, NodeBatch& n) {
  if (n.is_batched(0)) NodeBatch::refuse("its condition differs from sample to sample");
  std::vector<ir::Graph*> branches = n.node().subgraphs();
  // Where the sizes of a sample decide, only the branch that runs counts.
  if (const ir::Graph* taken = decided_branch(n))
    std::erase_if(branches, [&](const ir::Graph* g) { return g != taken; });
  for (ir::Graph* branch : branches) batch_graph(state, *branch, branch->nodes().front());
  for (int i = 0; i < static_cast<int>(n.node().outputs().size()); ++i) {
    const bool any = std::any_of(branches.begin(), branches.end(), [&](const ir::Graph* branch) {
      return state.batched.contains(branch->outputs()[static_cast<size_t>(i)]);
    });
    if (!any) continue;
    for (ir::Graph* branch : branches) {
      ir::Value* result = branch->outputs()[static_cast<size_t>(i)];
      const auto found = state.batched.find(result);
      Emitter end(state, *branch, nullptr);
      const ops::Fact& fact = state.fact(result);
      if (!fact.has_rank()) NodeBatch::refuse("the rank of what a branch returns is not known");
      ir::Value* leading = found == state.batched.end()          ? end.repeated(result, fact.rank())
                           : found->second.form == Form::kMerged ? end.unsqueeze(found->second.value, {1})
                                                                 : found->second.value;
      if (leading == result) continue;
      leading->type = ir::Type::tensor(fact.dtype);
      branch->set_output(i, leading);
    }
    if (ir::Value* output = n.node().output(i)) state.batched[output] = {output, Form::kLeading};
  }
  n.note_change();
}

void batch_node(State& state, ir::Node& node) {
  NodeBatch n(state, node);
  const ops::Batching batching = ops::batching_of(node.domain(), node.op_type());
  NodeCounts& count = state.report.operators[node.op_type()];  // a rule may make another operator of it
  try {
    if (batching.kind == ops::BatchKind::kIf) {
      batch_if(state, n);
    } else if (const Rule rule = rule_of(batching.kind)) {
      rule(n, batching);
    } else {
      NodeBatch::refuse(std::string(batching.why));
    }
  } catch (const CannotBatch& reason) {
    if (!state.options.allow_loop) {
      throw Error({.what = fmt::format("it cannot be batched, because {}", reason.why),
                   .where = node.describe(),
                   .expected = "an operator that treats samples apart",
                   .next = "give --allow-loop to run it sample by sample, or --inputs to say which inputs differ"});
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
