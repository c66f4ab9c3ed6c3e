// Batch rules of operators that hold graphs: If, Scan, SequenceMap; Loop is in control_loop.cc.
#include "thaw/batch/control.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/batch/splice.h"

namespace thaw::batch {

ir::Graph& graph_of(const ir::Node& node, std::string_view name) {
  const ir::Attribute* attribute = node.attribute(name);
  const auto* graph = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
  if (!graph || !*graph) NodeBatch::refuse(fmt::format("it has no {}", name));
  return **graph;
}

void return_leading(State& state, ir::Graph& graph, int i) {
  ir::Value* result = graph.outputs()[static_cast<size_t>(i)];
  const ops::Fact& fact = state.fact(result);
  Emitter end(state, graph, nullptr);
  ir::Value* leading = end.as_leading(result);
  if (!fact.is_tensor()) {
    forget_shape(leading->type);
  } else {
    // Sizes stay declared: they say what a Loop collects where it does not run at all.
    leading->type = ir::Type::tensor(fact.dtype);
    if (fact.has_rank()) leading->type.shape.emplace(static_cast<size_t>(fact.rank() + 1));
    for (int axis = 0; axis < fact.rank(); ++axis)
      (*leading->type.shape)[static_cast<size_t>(axis) + 1].value = fact.dim(axis).constant();
  }
  if (leading != result) graph.set_output(i, leading);
}

bool returns_samples(const State& state, const ir::Graph& graph, int i) {
  return state.batched.contains(graph.outputs()[static_cast<size_t>(i)]);
}

void give_samples(State& state, NodeBatch& n, int operand, ir::Value* formal) {
  n.set_operand(operand, n.leading(operand));
  forget_shape(formal->type);
  state.batched[formal] = {formal, Form::kLeading};
}

void give_state(State& state, NodeBatch& n, int operand, ir::Value* formal) {
  if (n.is_batched(operand) || state.reach.contains(formal)) give_samples(state, n, operand, formal);
}

void return_state(State& state, ir::Graph& body, const ir::Value* formal, int i) {
  if (state.batched.contains(formal)) return return_leading(state, body, i);
  if (returns_samples(state, body, i)) NodeBatch::refuse("what it carries begins alike and then differs");
}

namespace {

// An axis that scans, in a tensor with the batch before it.
std::vector<int64_t> axes_of(const ir::Node& node, std::string_view name, int count) {
  const auto given = node.attribute_ints(name);
  std::vector<int64_t> axes(given.begin(), given.end());
  axes.resize(static_cast<size_t>(count));
  return axes;
}

// The condition differs: both branches are computed for all samples, and each sample takes its own.
void select_branch(State& state, NodeBatch& n, ir::Graph& then_branch, ir::Graph& else_branch) {
  if (!can_splice(then_branch) || !can_splice(else_branch))
    NodeBatch::refuse("its condition differs from sample to sample");
  ir::Node& node = n.node();
  const auto count = static_cast<int>(node.outputs().size());
  for (int i = 0; i < count; ++i) {
    const ops::Fact &a = state.fact(then_branch.outputs()[static_cast<size_t>(i)]),
                    &b = state.fact(else_branch.outputs()[static_cast<size_t>(i)]);
    bool alike = a.is_tensor() && b.is_tensor() && a.has_rank() && a.rank() == b.rank();
    for (int axis = 0; alike && axis < a.rank(); ++axis) alike = dim::same(a.dim(axis), b.dim(axis));
    if (!alike)
      NodeBatch::refuse("its condition differs from sample to sample, and the results of its branches in size");
    return_leading(state, then_branch, i);
    return_leading(state, else_branch, i);
  }
  const int rank = n.rank(0);
  ir::Value* condition = n.emit("Reshape", {n.leading(0), n.ints({-1})});
  if (rank > 1) NodeBatch::refuse("its condition is not one truth value");
  splice(then_branch, &node, name_of(node) + "/then");
  splice(else_branch, &node, name_of(node) + "/else");
  for (int i = 0; i < count; ++i) {
    ir::Value *a = then_branch.outputs()[static_cast<size_t>(i)], *b = else_branch.outputs()[static_cast<size_t>(i)];
    std::vector<int64_t> axes;
    for (int axis = 1; axis <= n.output_fact(i).rank(); ++axis) axes.push_back(axis);
    n.become(i, n.emit("Where", {n.unsqueeze(condition, axes), a, b}), Form::kLeading);
  }
}

}  // namespace

void batch_if(NodeBatch& n, const ops::Batching&) {
  State& state = n.state();
  ir::Graph* branches[] = {&graph_of(n.node(), "then_branch"), &graph_of(n.node(), "else_branch")};
  for (ir::Graph* branch : branches) batch_graph(state, *branch, branch->nodes().front());
  n.note_change();
  if (n.is_batched(0)) return select_branch(state, n, *branches[0], *branches[1]);
  // Both return samples in the leading form, so that it does not matter which one runs.
  for (int i = 0; i < static_cast<int>(n.node().outputs().size()); ++i) {
    if (!returns_samples(state, *branches[0], i) && !returns_samples(state, *branches[1], i)) continue;
    const ops::Fact& fact = n.output_fact(i);
    if (fact.is_tensor() && !fact.has_rank())
      NodeBatch::refuse("its branches return different ranks, or one that is not known");
    for (ir::Graph* branch : branches) return_leading(state, *branch, i);
    if (ir::Value* output = n.node().output(i)) state.batched[output] = {output, Form::kLeading};
  }
}

void batch_scan(NodeBatch& n, const ops::Batching&) {
  if (n.opset() < 9) NodeBatch::refuse("it has a batch axis of its own, as before opset 9");
  State& state = n.state();
  ir::Node& node = n.node();
  ir::Graph& body = graph_of(node, "body");
  const int scans = static_cast<int>(node.attribute_int("num_scan_inputs", 0));
  const int states = n.num_inputs() - scans;
  const int results = static_cast<int>(body.outputs().size());
  if (scans < 1 || states < 0 || results < states || static_cast<int>(body.inputs().size()) < states + scans)
    NodeBatch::refuse("its body takes or returns too few values");
  const auto formal = [&](int i) { return body.inputs()[static_cast<size_t>(i)]; };
  std::vector<int64_t> inward = axes_of(node, "scan_input_axes", scans);
  std::vector<int64_t> outward = axes_of(node, "scan_output_axes", results - states);
  for (int i = 0; i < states; ++i) give_state(state, n, i, formal(i));
  for (int i = 0; i < scans; ++i) {
    if (!n.is_batched(states + i)) continue;
    give_samples(state, n, states + i, formal(states + i));
    inward[static_cast<size_t>(i)] = NodeBatch::shifted(inward[static_cast<size_t>(i)]);
  }
  batch_graph(state, body, body.nodes().front());
  for (int i = 0; i < states; ++i) return_state(state, body, formal(i), i);
  for (int i = 0; i < results; ++i) {
    if (i < states ? !state.batched.contains(formal(i)) : !returns_samples(state, body, i)) continue;
    if (i >= states) {
      return_leading(state, body, i);
      int64_t& axis = outward[static_cast<size_t>(i - states)];
      axis = NodeBatch::shifted(axis);
    }
    if (ir::Value* output = node.output(i)) state.batched[output] = {output, Form::kLeading};
  }
  node.set_attribute({"scan_input_axes", inward});
  if (results > states) node.set_attribute({"scan_output_axes", outward});
  n.note_change();
}

void batch_sequence_map(NodeBatch& n, const ops::Batching&) {
  State& state = n.state();
  ir::Node& node = n.node();
  ir::Graph& body = graph_of(node, "body");
  for (int i = 0; i < n.num_inputs() && i < static_cast<int>(body.inputs().size()); ++i)
    if (n.is_batched(i)) give_samples(state, n, i, body.inputs()[static_cast<size_t>(i)]);
  batch_graph(state, body, body.nodes().front());
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (!node.output(i) || !returns_samples(state, body, i)) continue;
    return_leading(state, body, i);
    state.batched[node.output(i)] = {node.output(i), Form::kLeading};
  }
  n.note_change();
}

}  // namespace thaw::batch
