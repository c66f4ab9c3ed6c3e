// Scan and Loop for a device that runs no graphs inside a graph: a sum that goes along an axis is CumSum.
#include <vector>

#include "thaw/optimize/loop_bodies.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kOpsetOfCumSum = 11;

struct RunningSum {
  ir::Node* node = nullptr;
  ir::Value *start = nullptr, *x = nullptr;
  int64_t axis = 0, axis_out = 0;
};

bool has_kernel(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kInt32 || type == ir::DataType::kInt64;
}

// Whether a value is the sum of two others.
bool is_sum_of(const ir::Value* sum, const ir::Value* one, const ir::Value* other) {
  const ir::Node* add = producer_of(sum, "Add");
  if (!add) return false;
  const ir::Value *left = behind_identities(add->input(0)), *right = behind_identities(add->input(1));
  return (left == one && right == other) || (left == other && right == one);
}

// Of a body (sum, x) -> (sum + x, sum + x), or the first alone.
bool adds_up(const ir::Graph& body) {
  if (body.inputs().size() != 2 || body.outputs().empty() || body.outputs().size() > 2) return false;
  const ir::Value* sum = behind_identities(body.outputs().front());
  return is_sum_of(sum, body.inputs()[0], body.inputs()[1]) && behind_identities(body.outputs().back()) == sum;
}

bool fits(const RunningSum& found, const infer::Inference& facts) {
  const ops::Fact &state = facts.fact(found.start), &x = facts.fact(found.x);
  if (x.rank() < 1 || state.rank() != x.rank() - 1 || !has_kernel(x.dtype) || found.axis < 0 ||
      found.axis >= x.rank() || found.axis_out != found.axis)
    return false;
  for (int axis = 0, from = 0; axis < state.rank(); ++axis, ++from) {
    if (from == found.axis) ++from;
    if (!dim::same(state.dim(axis), x.dim(from))) return false;
  }
  return true;
}

std::optional<RunningSum> scanned_sum(ir::Node& node, const infer::Inference& facts) {
  const auto body = graph_of(node, "body");
  if (!body || node.inputs().size() != 2 || node.attribute_int("num_scan_inputs", 0) != 1 || !adds_up(*body))
    return std::nullopt;
  for (const std::string_view directions : {"scan_input_directions", "scan_output_directions"})
    for (const int64_t direction : node.attribute_ints(directions))
      if (direction != 0) return std::nullopt;
  const int64_t rank = facts.fact(node.input(1)).rank();
  const auto axis_of = [&](std::string_view name) {
    const auto axes = node.attribute_ints(name);
    return axes.empty() ? int64_t{0} : axes[0] < 0 ? axes[0] + rank : axes[0];
  };
  const RunningSum found{&node, node.input(0), node.input(1), axis_of("scan_input_axes"), axis_of("scan_output_axes")};
  return fits(found, facts) ? std::optional(found) : std::nullopt;
}

// Of a Loop's body (round, going on, sum) -> (going on, sum + row, sum + row), or without the last.
std::optional<RunningSum> looped_sum(ir::Node& node, const infer::Inference& facts) {
  const auto body = graph_of(node, "body");
  if (!body || node.inputs().size() != 3 || !runs_all_rounds(node, *body) || body->outputs().size() < 2 ||
      body->outputs().size() > 3)
    return std::nullopt;
  const ir::Value* sum = behind_identities(body->outputs()[1]);
  if (behind_identities(body->outputs().back()) != sum) return std::nullopt;
  for (const ir::Node* inner : body->nodes()) {
    ir::Value* rows = rows_taken(*inner, node, *body, facts);
    if (!rows || !is_sum_of(sum, body->inputs()[2], inner->output(0))) continue;
    const RunningSum found{&node, node.input(2), rows, 0, 0};
    if (fits(found, facts)) return found;
  }
  return std::nullopt;
}

std::optional<RunningSum> running_sum(ir::Node& node, const infer::Inference& facts) {
  if (node.op_type() == "Scan") return scanned_sum(node, facts);
  return node.op_type() == "Loop" ? looped_sum(node, facts) : std::nullopt;
}

void add_at_once(ir::Model& model, const RunningSum& found) {
  rewrite::Emitter emitter(model, {});
  emitter.set_origin(rewrite::name_of(*found.node));
  const ops::Emit at = emitter.before(found.node);
  ir::Value *start = found.start, *x = found.x;
  std::vector<ir::Value*> results{at.add(start, at.reduce("ReduceSum", x, {found.axis}, false))};
  if (found.node->outputs().size() > 1)
    results.push_back(at.add(at.emit("CumSum", {x, at.integer(found.axis)}), at.unsqueeze(start, {found.axis})));
  rewrite::replace_node(found.node, results);
}

}  // namespace

int add_scans_at_once(Context& context) {
  ir::Model& model = context.model;
  if (model.opset("").value_or(0) < kOpsetOfCumSum) return 0;
  const infer::Inference& facts = context.facts();
  std::vector<RunningSum> all;
  for (ir::Node* node : model.graph->nodes()) {
    if (node->subgraphs().empty() || !node->domain().empty()) continue;
    if (const auto found = running_sum(*node, facts)) all.push_back(*found);
  }
  if (all.empty()) return 0;
  rewrite::edit_as_one(context, [&] {
    for (const RunningSum& found : all) {
      context.changes.made.push_back({.kind = "add up at once",
                                      .location = found.node->describe(),
                                      .replaced = {{found.node->op_type(), "CumSum"}}});
      add_at_once(model, found);
    }
    return static_cast<int>(all.size());
  });
  context.look_again();
  return static_cast<int>(all.size());
}

}  // namespace thaw::optimizing
