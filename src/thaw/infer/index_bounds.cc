#include "thaw/infer/index_bounds.h"

#include <algorithm>
#include <optional>

#include "thaw/infer/facts_view.h"
#include "thaw/infer/moved_values.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::infer {
namespace {

// Below it, an index is one along any axis (of ScatterND, ScatterElements, GatherElements).
std::optional<int64_t> shortest_axis(const ops::Fact& data) {
  if (!data.shape || data.shape->empty()) return std::nullopt;
  int64_t shortest = INT64_MAX;
  for (const dim::Dim size : *data.shape) shortest = std::min(shortest, size.constant().value_or(1));
  return shortest;
}

// The rows that input `index` of the node selects from.
std::optional<int64_t> rows_selected(const ir::Model& model, const Result& facts, const ir::Node& node, int index) {
  NodeFacts view(facts, model, node);
  const auto map = ops::axes_of(view);
  if (!map) return std::nullopt;
  for (const ops::AxisLink& link : map->links)
    if (link.index == index) return view.input(link.inputs.front().operand).dim(link.inputs.front().axis).constant();
  // One class each, counted by another operand.
  const int count = ops::registry().find(node)->operands.find(ops::Role::kSize);
  const auto classes = count >= 0 ? view.ints(count) : std::nullopt;
  if (classes && classes->size() == 1) return classes->front();
  return shortest_axis(view.input(0));
}

}  // namespace

std::map<std::string, int64_t> index_bounds(const ir::Model& model, const Result& facts) {
  std::map<std::string, int64_t> bounds;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->type.kind != ir::Type::Kind::kTensor || !ir::is_integer(input->type.elem_type)) continue;
    std::optional<int64_t> smallest;
    visit_reads(*input, [&](const ir::Use& use, const ops::Operator& op) {
      if (op.operands[use.index] != ops::Role::kIndex) return;
      const auto rows = rows_selected(model, facts, *use.node, use.index);
      if (rows && *rows > 0) smallest = std::min(smallest.value_or(*rows), *rows);
    });
    if (smallest) bounds.emplace(input->name(), *smallest);
  }
  return bounds;
}

}  // namespace thaw::infer
