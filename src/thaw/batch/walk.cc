#include "thaw/batch/walk.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/splice.h"

namespace thaw::batching {

using ops::BatchContext;

Walk::Walk(ir::Model& model, const BatchOptions& options, const infer::Result& sample, Dependence dependence)
    : model_(model), options_(options), sample_(sample), dependence_(std::move(dependence)), emitter_(model, "batch") {
  for (const infer::Problem& problem : sample.problems()) problems_.try_emplace(problem.node, problem.message);
}

const ops::Fact& Walk::fact(const ir::Value* value) const {
  const auto known = stands_for_.find(value);
  return sample_.fact(known == stands_for_.end() ? value : known->second);
}

const ops::Batched* Walk::batched(const ir::Value* value) const {
  const auto found = batched_.find(value);
  return found == batched_.end() ? nullptr : &found->second;
}

bool Walk::reads_samples(const ir::Node& node) const {
  const auto inputs = node.inputs();
  if (std::ranges::any_of(inputs, [&](const ir::Value* v) { return v && batched_.contains(v); })) return true;
  return std::ranges::any_of(node.subgraphs(), [&](const ir::Graph* g) { return reads_samples(*g); });
}

// Whether a graph, or one inside it, reads or returns what samples reach.
bool Walk::reads_samples(const ir::Graph& graph) const {
  if (std::ranges::any_of(graph.outputs(), [&](const ir::Value* v) { return batched_.contains(v); })) return true;
  const auto nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) { return reads_samples(*node); });
}

void Walk::batch_node(ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  BatchContext n(*this, node, model_.opset(node.domain()).value_or(1));
  BatchedNodes& count = report_.operators[node.op_type()];  // a rule may make another operator of it
  const std::vector<ir::Value*> operands(node.inputs().begin(), node.inputs().end());
  // Rules count on what inference holds against a node: on axes that are there, on sizes that are none below 0.
  const auto problem = problems_.find(&node);
  std::string why;
  try {
    if (problem != problems_.end()) BatchContext::refuse(problem->second);
    if (!op || !op->batch.is_stated()) BatchContext::refuse("thaw has no batch rule for it");
    if (!op->batch.rule) BatchContext::refuse(std::string(op->batch.why_not));
    op->batch.rule(n);
    ++(n.kept_as_it_was() ? report_.unchanged : report_.rewritten);
    ++(n.kept_as_it_was() ? count.unchanged : count.rewritten);
    return;
  } catch (const ops::CannotWrite& reason) {
    why = reason.why;
  }
  // What cannot run does not run sample by sample either, and a graph of its own stays where it is.
  const bool may_loop = node.subgraphs().empty() && problem == problems_.end();
  if (may_loop && options_.allow_loop) {
    try {
      // The rule may have got as far as some operands.
      for (int i = 0; i < static_cast<int>(operands.size()); ++i) node.set_input(i, operands[static_cast<size_t>(i)]);
      run_per_sample(n);
      report_.per_sample_nodes.push_back({node.describe(), why});
      ++count.per_sample;
      return;
    } catch (const ops::CannotWrite& reason) {
      why += fmt::format("; nor sample by sample, because {}", reason.why);
    }
  }
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("it cannot be batched, because {}", why),
               .where = node.describe(),
               .expected = "an operator that treats samples apart",
               .next = may_loop && !options_.allow_loop
                           ? "give --allow-loop to run it sample by sample, or --inputs to say which inputs differ"
                           : "say with --inputs which inputs differ"});
}

void Walk::walk(ir::Graph& graph) { walk_from(graph.nodes().front()); }

void Walk::walk_from(ir::Node* first) {
  // Nodes that a rule adds stand before or after the one it looks at; only those that were there are walked.
  std::vector<ir::Node*> nodes;
  for (ir::Node* node = first; node; node = node->graph()->next(node)) nodes.push_back(node);
  for (ir::Node* node : nodes) {
    if (reads_samples(*node)) {
      batch_node(*node);
    } else {
      ++report_.independent;
      ++report_.operators[node->op_type()].independent;
    }
  }
}

bool Walk::can_splice(const ir::Graph& inner) const { return rewrite::can_splice(inner); }

void Walk::splice(ir::Graph& inner, ir::Node& node, std::string_view prefix) {
  rewrite::splice(inner, &node, fmt::format("{}/{}", rewrite::name_of(node), prefix));
}

}  // namespace thaw::batching
