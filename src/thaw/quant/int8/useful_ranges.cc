#include "thaw/quant/int8/useful_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thaw/ops/onnx/told_apart.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::quantizing::int8 {
namespace {

constexpr Range kEveryNumber{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
constexpr Range kNoNumber{kEveryNumber.highest, kEveryNumber.lowest};

class UsefulRanges {
 public:
  explicit UsefulRanges(const ir::Graph& graph) : graph_(graph) {}

  // From the back: what reads a tensor stands behind what makes it.
  std::unordered_map<const ir::Value*, Range> run() {
    std::vector<const ir::Node*> backwards;
    for (const ir::Node* node : graph_.nodes()) backwards.push_back(node);
    std::ranges::reverse(backwards);
    for (const ir::Node* node : backwards)
      for (const ir::Value* output : node->outputs())
        if (output) add(*output);
    for (const ir::Value* input : graph_.inputs()) add(*input);
    return std::move(found_);
  }

 private:
  void add(const ir::Value& value) {
    if (value.is_output() || value.uses().empty()) return;
    Range all = kNoNumber;
    for (const ir::Use& use : value.uses()) {
      const Range told = told_apart_by(use);
      all = {std::min(all.lowest, told.lowest), std::max(all.highest, told.highest)};
      if (std::isinf(all.lowest) && std::isinf(all.highest)) return;
    }
    if (graph_.returned_by(&value).empty()) found_.emplace(&value, all);
  }

  Range told_apart_by(const ir::Use& use) const {
    if (use.node->graph() != &graph_) return kEveryNumber;
    if (moves(use)) {
      const auto behind = found_.find(use.node->output(0));
      return behind == found_.end() ? kEveryNumber : behind->second;
    }
    const ops::ToldApart told = ops::told_apart(*use.node, use.index);
    return {told.lowest, told.highest};
  }

  // All that it reads there goes into its one result as it is.
  static bool moves(const ir::Use& use) {
    const ops::Operator* op = ops::registry().find(*use.node);
    return op && op->op_class == ops::OpClass::kMovement && use.index == 0 && use.node->outputs().size() == 1;
  }

  const ir::Graph& graph_;
  std::unordered_map<const ir::Value*, Range> found_;
};

}  // namespace

std::unordered_map<const ir::Value*, Range> useful_ranges(const ir::Graph& graph) { return UsefulRanges(graph).run(); }

}  // namespace thaw::quantizing::int8
