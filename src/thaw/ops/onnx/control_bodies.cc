#include "thaw/ops/onnx/control_bodies.h"

#include <algorithm>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {
namespace {

// A body whose results past the first `own` are the node's, `carried` of them at least.
BodyArity body_of(const ir::Node& node, size_t inputs, size_t own, size_t carried) {
  const auto results = node.outputs();
  size_t given = results.size();
  while (given > 0 && !results[given - 1]) --given;
  const size_t least = own + std::max(given, carried);
  return {.attribute = "body",
          .inputs = inputs,
          .least_outputs = least,
          .most_outputs = std::max(least, own + results.size())};
}

}  // namespace

std::vector<BodyArity> if_bodies(const ir::Node& node, int64_t) {
  BodyArity then_branch = body_of(node, 0, 0, 0), else_branch = then_branch;
  then_branch.attribute = "then_branch";
  else_branch.attribute = "else_branch";
  return {then_branch, else_branch};
}

// It takes the iteration's number and the condition, and returns the condition.
std::vector<BodyArity> loop_bodies(const ir::Node& node, int64_t) {
  const size_t carried = std::max<size_t>(node.inputs().size(), 2) - 2;
  return {body_of(node, 2 + carried, 1, carried)};
}

// Before opset 9 the first operand is the sequences' lengths.
std::vector<BodyArity> scan_bodies(const ir::Node& node, int64_t opset) {
  const size_t first = opset < 9 ? 1 : 0;
  const size_t given = std::max(node.inputs().size(), first) - first;
  const auto scanned = static_cast<size_t>(
      std::clamp<int64_t>(node.attribute_int("num_scan_inputs", 0), 0, static_cast<int64_t>(given)));
  return {body_of(node, given, 0, given - scanned)};
}

std::vector<BodyArity> sequence_map_bodies(const ir::Node& node, int64_t) {
  return {body_of(node, node.inputs().size(), 0, 0)};
}

}  // namespace thaw::ops
