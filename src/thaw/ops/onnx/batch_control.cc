// Batch rules of operators that hold graphs: If, Scan, SequenceMap; Loop is in batch_loop.cc.
#include <algorithm>

#include "thaw/ops/onnx/control.h"

namespace thaw::ops {
namespace {

// An axis that scans, in a tensor with the batch before it.
std::vector<int64_t> scan_axes(const ir::Node& node, std::string_view name, int count) {
  const auto given = node.attribute_ints(name);
  std::vector<int64_t> axes(given.begin(), given.end());
  axes.resize(static_cast<size_t>(count));
  return axes;
}

// The condition differs: both branches are computed for all samples, and each sample takes its own.
void select_branch(BatchContext& n, ir::Graph& then_branch, ir::Graph& else_branch) {
  if (!n.state().can_splice(then_branch) || !n.state().can_splice(else_branch))
    BatchContext::refuse("its condition differs from sample to sample");
  ir::Node& node = n.node();
  const auto count = static_cast<int>(node.outputs().size());
  for (int i = 0; i < count; ++i) {
    const Fact &a = n.state().fact(then_branch.outputs()[static_cast<size_t>(i)]),
               &b = n.state().fact(else_branch.outputs()[static_cast<size_t>(i)]);
    bool alike = a.is_tensor() && b.is_tensor() && a.has_rank() && a.rank() == b.rank();
    for (int axis = 0; alike && axis < a.rank(); ++axis) alike = dim::same(a.dim(axis), b.dim(axis));
    if (!alike)
      BatchContext::refuse("its condition differs from sample to sample, and the results of its branches in size");
    n.return_leading(then_branch, i);
    n.return_leading(else_branch, i);
  }
  const int rank = n.rank(0);
  ir::Value* condition = n.reshape(n.leading(0), n.list({-1}));
  if (rank > 1) BatchContext::refuse("its condition is not one truth value");
  n.state().splice(then_branch, node, "then");
  n.state().splice(else_branch, node, "else");
  for (int i = 0; i < count; ++i) {
    ir::Value *a = then_branch.outputs()[static_cast<size_t>(i)], *b = else_branch.outputs()[static_cast<size_t>(i)];
    std::vector<int64_t> axes;
    for (int axis = 1; axis <= n.output(i).rank(); ++axis) axes.push_back(axis);
    n.become(i, n.emit("Where", {n.unsqueeze(condition, axes), a, b}), Form::kLeading);
  }
}

}  // namespace

void batch_if(BatchContext& n) {
  ir::Graph* branches[] = {&n.graph_attribute("then_branch"), &n.graph_attribute("else_branch")};
  for (ir::Graph* branch : branches) n.state().walk(*branch);
  n.note_change();
  if (n.is_batched(0)) return select_branch(n, *branches[0], *branches[1]);
  // Both return samples in the leading form, so that it does not matter which one runs.
  for (int i = 0; i < static_cast<int>(n.node().outputs().size()); ++i) {
    if (!n.returns_samples(*branches[0], i) && !n.returns_samples(*branches[1], i)) continue;
    const Fact& fact = n.output(i);
    if (fact.is_tensor() && !fact.has_rank())
      BatchContext::refuse("its branches return different ranks, or one that is not known");
    for (ir::Graph* branch : branches) n.return_leading(*branch, i);
    if (ir::Value* output = n.node().output(i)) n.state().set_batched(output, {output, Form::kLeading});
  }
}

void batch_scan(BatchContext& n) {
  if (n.opset() < 9) BatchContext::refuse("it has a batch axis of its own, as before opset 9");
  ir::Node& node = n.node();
  ir::Graph& body = n.graph_attribute("body");
  const int scans = static_cast<int>(node.attribute_int("num_scan_inputs", 0));
  const int states = n.num_inputs() - scans;
  const int results = static_cast<int>(body.outputs().size());
  if (scans < 1 || states < 0 || results < states || static_cast<int>(body.inputs().size()) < states + scans)
    BatchContext::refuse("its body takes or returns too few values");
  const auto formal = [&](int i) { return body.inputs()[static_cast<size_t>(i)]; };
  std::vector<int64_t> inward = scan_axes(node, "scan_input_axes", scans);
  std::vector<int64_t> outward = scan_axes(node, "scan_output_axes", results - states);
  for (int i = 0; i < states; ++i) n.give_state(i, formal(i));
  for (int i = 0; i < scans; ++i) {
    if (!n.is_batched(states + i)) continue;
    n.give_samples(states + i, formal(states + i));
    inward[static_cast<size_t>(i)] = BatchContext::shifted(inward[static_cast<size_t>(i)]);
  }
  n.state().walk(body);
  for (int i = 0; i < states; ++i) n.return_state(body, formal(i), i);
  for (int i = 0; i < results; ++i) {
    if (i < states ? !n.state().batched(formal(i)) : !n.returns_samples(body, i)) continue;
    if (i >= states) {
      n.return_leading(body, i);
      int64_t& axis = outward[static_cast<size_t>(i - states)];
      axis = BatchContext::shifted(axis);
    }
    if (ir::Value* output = node.output(i)) n.state().set_batched(output, {output, Form::kLeading});
  }
  n.set_attribute({"scan_input_axes", inward});
  if (results > states) node.set_attribute({"scan_output_axes", outward});
  n.note_change();
}

void batch_sequence_map(BatchContext& n) {
  ir::Node& node = n.node();
  ir::Graph& body = n.graph_attribute("body");
  for (int i = 0; i < n.num_inputs() && i < static_cast<int>(body.inputs().size()); ++i)
    if (n.is_batched(i)) n.give_samples(i, body.inputs()[static_cast<size_t>(i)]);
  n.state().walk(body);
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    if (!node.output(i) || !n.returns_samples(body, i)) continue;
    n.return_leading(body, i);
    n.state().set_batched(node.output(i), {node.output(i), Form::kLeading});
  }
  n.note_change();
}

}  // namespace thaw::ops
