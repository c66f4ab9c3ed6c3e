#include "thaw/batch/rows_apart.h"

#include <algorithm>
#include <unordered_map>

#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::batching {
namespace {

class RowsWalk {
 public:
  RowsWalk(const ir::Model& model, const infer::Result& facts, std::span<ir::Value* const> inputs)
      : model_(model), facts_(facts) {
    for (const ir::Value* input : inputs) axis_[input] = 0;
  }

  bool run() {
    for (const ir::Node* node : model_.graph->nodes())
      if (!follow(*node)) return false;
    bool any = false;
    for (const ir::Value* output : model_.graph->outputs()) {
      const auto rows = axis_.find(output);
      if (rows == axis_.end()) continue;
      if (rows->second != 0) return false;
      any = true;
    }
    return any;
  }

 private:
  // Whether the node reads numbers of the rows, rather than how many there are.
  bool reads_rows(const ir::Node& node) const {
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      if (axis_.contains(node.input(i)) && !ops::is_unread(ops::role_of(node, i))) return true;
    return false;
  }

  bool reads_rows(const ir::Graph& graph) const {
    return std::ranges::any_of(graph.outputs(), [&](const ir::Value* value) { return axis_.contains(value); }) ||
           std::ranges::any_of(graph.nodes(), [&](const ir::Node* node) {
             return reads_rows(*node) ||
                    std::ranges::any_of(node->subgraphs(), [&](const ir::Graph* inner) { return reads_rows(*inner); });
           });
  }

  bool follow(const ir::Node& node) {
    if (std::ranges::any_of(node.subgraphs(), [&](const ir::Graph* graph) { return reads_rows(*graph); })) return false;
    if (!reads_rows(node)) return true;
    infer::NodeFacts view(facts_, model_, node);
    const auto map = node.subgraphs().empty() ? ops::axes_of(view) : std::nullopt;
    if (!map) return false;
    const ops::AxisLink* link = nullptr;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const auto rows = axis_.find(node.input(i));
      if (rows == axis_.end() || ops::is_unread(ops::role_of(node, i))) continue;
      const ops::AxisLink* found = map->of_input(i, rows->second);
      if (found == nullptr || found->kind != ops::AxisKind::kPreserved || (link != nullptr && found != link))
        return false;
      link = found;
    }
    // What else has the axis is one number for all rows.
    for (const ops::OperandAxis& from : link->inputs)
      if (!axis_.contains(node.input(from.operand)) && !view.input(from.operand).dim(from.axis).is_constant(1))
        return false;
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
      const ir::Value* output = node.output(i);
      if (output == nullptr) continue;
      const auto axis = link->axis_of_output(i);
      if (!axis && output->is_used()) return false;
      if (axis) axis_[output] = *axis;
    }
    return true;
  }

  const ir::Model& model_;
  const infer::Result& facts_;
  std::unordered_map<const ir::Value*, int> axis_;  // that the rows are along
};

}  // namespace

bool are_rows_apart(const ir::Model& model, const infer::Result& facts, std::span<ir::Value* const> inputs) {
  return RowsWalk(model, facts, inputs).run();
}

}  // namespace thaw::batching
