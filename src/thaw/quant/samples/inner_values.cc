#include "thaw/quant/samples/inner_values.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "thaw/ops/onnx/runs_graphs.h"
#include "thaw/quant/samples/measured_model.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

using ops::GraphRuns;

GraphRuns how(const ir::Graph& inner) { return ops::runs_graphs(*inner.parent_node()).how; }

class BringingOut {
 public:
  explicit BringingOut(MeasuredModel& model) : model_(model) {
    nothing_ = model.constant("nothing_measured", {0}, {});
    no_rows_ = model.constant("no_rows_measured", {0, 1}, {});
    zero_ = model.constant("measured_zero", {}, {0});
    zeros_ = model.constant("measured_zeros", {1}, {0});
  }

  std::vector<ir::Value*> run(const std::vector<InnerValue>& values) {
    std::map<size_t, std::vector<size_t>> by_graph;  // numbers of graphs and of values
    for (size_t i = 0; i < values.size(); ++i) {
      values_.push_back(values[i].value);
      by_graph[model_.number_of(*values[i].value->graph())].push_back(i);
    }
    // Graphs stand before those inside them.
    while (!by_graph.empty() && by_graph.rbegin()->first > 0) {
      const auto [number, open] = std::move(*by_graph.rbegin());
      by_graph.erase(std::prev(by_graph.end()));
      ir::Graph& inner = model_.graph(number);
      bring(inner, open, values);
      std::vector<size_t>& further = by_graph[model_.number_of(*inner.parent())];
      further.insert(further.end(), open.begin(), open.end());
    }
    return std::move(values_);
  }

 private:
  // One level out: all of a graph's values at once, as a node with more outputs is a new node.
  void bring(ir::Graph& inner, const std::vector<size_t>& open, const std::vector<InnerValue>& asked) {
    ir::Node* node = inner.parent_node();
    ir::Graph& outer = *node->graph();
    const bool is_branch = how(inner) == GraphRuns::kBranch;
    std::vector<ir::Value*> outputs;
    for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i)
      outputs.push_back(node->output(i) ? outer.release_output(node, i) : nullptr);
    outputs.resize(inner.outputs().size() - static_cast<size_t>(ops::runs_graphs(*node).kept), nullptr);
    std::vector<ir::Value*> made;
    for (const size_t i : open) {
      inner.add_output(values_[i]);
      made.push_back(outer.add_value(outer.unique_name(values_[i]->name() + "_outside")));
      outputs.push_back(made.back());
      if (!is_branch) continue;
      const OfRuns reduction = asked[i].reduction;
      ir::Value* otherwise = reduction == OfRuns::kNone ? nothing_ : reduction == OfRuns::kRows ? no_rows_ : zero_;
      for (ir::Graph* other : node->subgraphs())
        if (other != &inner) other->add_output(model_.same(otherwise, *other));
    }
    ir::Node* wider =
        rewrite::copy_node(*node, outer, {node->inputs().begin(), node->inputs().end()}, outputs, node->name, node);
    for (const char* name : {"scan_output_axes", "scan_output_directions"}) {
      const std::span<const int64_t> before = wider->attribute_ints(name);
      if (before.empty()) continue;
      std::vector<int64_t> all(before.begin(), before.end());
      all.resize(all.size() + open.size(), 0);
      wider->set_attribute({.name = name, .value = std::move(all)});
    }
    outer.remove_node(node);
    for (size_t k = 0; k < open.size(); ++k)
      values_[open[k]] = is_branch ? made[k] : of_all_runs(made[k], asked[open[k]].reduction);
  }

  // Of a vector with a number for each run, of which there may be none.
  ir::Value* of_all_runs(ir::Value* value, OfRuns reduction) {
    ir::Value* concatenated = model_.op("Concat", {value, zeros_});
    concatenated->producer()->set_attribute({.name = "axis", .value = int64_t{0}});
    if (reduction == OfRuns::kLeast) return model_.reduce("ReduceMin", concatenated);
    return reduction == OfRuns::kMost ? model_.reduce("ReduceMax", concatenated)
                                      : model_.reduce("ReduceSum", concatenated);
  }

  MeasuredModel& model_;
  ir::Value *nothing_, *no_rows_, *zero_, *zeros_;
  std::vector<ir::Value*> values_;  // as far out as they are
};

}  // namespace

ValueLocations::ValueLocations(const ir::Model& model) {
  for (const ir::Graph* graph : rewrite::all_graphs(*model.graph)) numbers_.emplace(graph, numbers_.size());
}

bool can_be_measured(const ir::Graph& graph) {
  for (const ir::Graph* inner = &graph; inner->parent_node(); inner = inner->parent())
    if (how(*inner) == GraphRuns::kOther) return false;
  return true;
}

bool may_run_often(const ir::Graph& graph) {
  for (const ir::Graph* inner = &graph; inner->parent_node(); inner = inner->parent())
    if (how(*inner) != GraphRuns::kBranch) return true;
  return false;
}

std::vector<ir::Value*> brought_out(MeasuredModel& model, const std::vector<InnerValue>& values) {
  const bool any_is_inside =
      std::ranges::any_of(values, [&](const InnerValue& value) { return value.value->graph()->parent() != nullptr; });
  if (any_is_inside) return BringingOut(model).run(values);
  std::vector<ir::Value*> own;
  for (const InnerValue& value : values) own.push_back(value.value);
  return own;
}

}  // namespace thaw::quantizing
