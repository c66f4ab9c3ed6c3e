// Scan for a device that runs no graphs inside a graph: a sum that goes along an axis is CumSum.
#include <vector>

#include "thaw/optimize/control.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kOpsetOfCumSum = 11;

struct RunningSum {
  ir::Node* node = nullptr;
  int64_t axis = 0, axis_out = 0;
};

bool has_kernel(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kInt32 || type == ir::DataType::kInt64;
}

// Behind Identity, which a body writes where it returns one value twice.
const ir::Value* behind_identity(const ir::Value* value) {
  while (const ir::Node* same = producer_of(value, "Identity")) value = same->input(0);
  return value;
}

// Of a body (sum, x) -> (sum + x, sum + x), or the first alone.
bool adds_up(const ir::Graph& body) {
  if (body.inputs().size() != 2 || body.outputs().empty() || body.outputs().size() > 2) return false;
  const ir::Value* sum = behind_identity(body.outputs().front());
  const ir::Node* add = producer_of(sum, "Add");
  const ir::Value *state = body.inputs()[0], *x = body.inputs()[1];
  const bool adds = add && add->graph() == &body &&
                    ((behind_identity(add->input(0)) == state && behind_identity(add->input(1)) == x) ||
                     (behind_identity(add->input(1)) == state && behind_identity(add->input(0)) == x));
  return adds && behind_identity(body.outputs().back()) == sum;
}

std::optional<RunningSum> running_sum(ir::Node& node, const infer::Inference& facts) {
  const ir::Attribute* given = node.attribute("body");
  const auto* body = given ? given->as<std::shared_ptr<ir::Graph>>() : nullptr;
  if (!body || node.inputs().size() != 2 || node.attribute_int("num_scan_inputs", 0) != 1 || !adds_up(**body))
    return std::nullopt;
  for (const std::string_view directions : {"scan_input_directions", "scan_output_directions"})
    for (const int64_t direction : node.attribute_ints(directions))
      if (direction != 0) return std::nullopt;
  const ops::Fact &state = facts.fact(node.input(0)), &x = facts.fact(node.input(1));
  if (x.rank() < 1 || state.rank() != x.rank() - 1 || !has_kernel(x.dtype)) return std::nullopt;
  const auto axis_of = [&](std::string_view name) {
    const auto axes = node.attribute_ints(name);
    return axes.empty() ? int64_t{0} : axes[0] < 0 ? axes[0] + x.rank() : axes[0];
  };
  const RunningSum found{&node, axis_of("scan_input_axes"), axis_of("scan_output_axes")};
  if (found.axis < 0 || found.axis >= x.rank() || found.axis_out != found.axis) return std::nullopt;
  for (int axis = 0, from = 0; axis < state.rank(); ++axis, ++from) {
    if (from == found.axis) ++from;
    if (!dim::same(state.dim(axis), x.dim(from))) return std::nullopt;
  }
  return found;
}

void add_at_once(ir::Model& model, const RunningSum& found) {
  rewrite::Emitter emitter(model, {});
  emitter.set_origin(rewrite::name_of(*found.node));
  const ops::Emit at = emitter.before(found.node);
  ir::Value *start = found.node->input(0), *x = found.node->input(1);
  std::vector<ir::Value*> results{at.add(start, at.reduce("ReduceSum", x, {found.axis}, false))};
  if (found.node->outputs().size() > 1)
    results.push_back(at.add(at.emit("CumSum", {x, at.integer(found.axis)}), at.unsqueeze(start, {found.axis})));
  rewrite::replace_node(found.node, results);
}

}  // namespace

int add_scans_at_once(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  if (model.opset("").value_or(0) < kOpsetOfCumSum) return 0;
  std::vector<RunningSum> all;
  for (ir::Node* node : model.graph->nodes()) {
    if (node->subgraphs().empty() || node->op_type() != "Scan" || !node->domain().empty()) continue;
    if (const auto found = running_sum(*node, facts)) all.push_back(*found);
  }
  if (all.empty()) return 0;
  return rewrite::edit_as_one(model, facts, [&] {
    for (const RunningSum& found : all) {
      changes.made.push_back(
          {.kind = "add up at once", .place = found.node->describe(), .replaced = {{"Scan", "CumSum"}}});
      add_at_once(model, found);
    }
    return static_cast<int>(all.size());
  });
}

}  // namespace thaw::optimizing
