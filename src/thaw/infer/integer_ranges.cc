#include "thaw/infer/integer_ranges.h"

#include <algorithm>
#include <optional>

#include "thaw/infer/facts_view.h"
#include "thaw/infer/moved_values.h"
#include "thaw/ops/rule/axes.h"
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

// Axes are counted along the data, or, where there are more, along what is made of it.
std::optional<int64_t> axes_of_data(const NodeFacts& view) {
  const ops::Fact &data = view.input(0), &made = view.output(0);
  if (!data.shape) return std::nullopt;
  return std::max<int64_t>(data.rank(), made.shape ? made.rank() : 0);
}

std::optional<int64_t> longest_count(const ops::Fact& data) {
  const bool is_known =
      data.shape && std::ranges::all_of(*data.shape, [](dim::Dim size) { return size.is_constant(); });
  const auto shortest = is_known ? shortest_axis(data) : std::nullopt;
  return shortest ? std::optional(*shortest + 1) : std::nullopt;
}

class RangeOfInput {
 public:
  RangeOfInput(const ir::Model& model, const Result& facts) : model_(model), facts_(facts) {}

  void read_by(const ir::Use& use, ops::Role role) {
    using ops::Role;
    const ir::Node& node = *use.node;
    switch (role) {
      case Role::kIndex:
        return stay_below(rows_selected(model_, facts_, node, use.index));
      case Role::kAxes:
        stay_below(axes_of_data({facts_, model_, node}));
        found_.is_distinct = is_any_ = true;
        return;
      case Role::kCount:
        if (const auto bound = longest_count(NodeFacts(facts_, model_, node).input(0)); bound && *bound > 1) {
          stay_below(bound);
          begin_at(1);
        }
        return;
      case Role::kShape:
      case Role::kSize:
      case Role::kRepeats:
      case Role::kScales:
      case Role::kSteps:
        return begin_at(1);
      default:
        return;
    }
  }

  std::optional<IntegerRange> found() const { return is_any_ ? std::optional(found_) : std::nullopt; }

 private:
  void stay_below(std::optional<int64_t> bound) {
    if (!bound || *bound <= 0) return;
    found_.bound = std::min(found_.bound.value_or(*bound), *bound);
    is_any_ = true;
  }

  void begin_at(int64_t lowest) {
    found_.lowest = std::max(found_.lowest, lowest);
    is_any_ = true;
  }

  const ir::Model& model_;
  const Result& facts_;
  IntegerRange found_;
  bool is_any_ = false;
};

}  // namespace

std::map<std::string, IntegerRange> integer_ranges(const ir::Model& model, const Result& facts) {
  std::map<std::string, IntegerRange> ranges;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->type.kind != ir::Type::Kind::kTensor || !ir::is_integer(input->type.elem_type)) continue;
    RangeOfInput range(model, facts);
    visit_reads(*input,
                [&](const ir::Use& use, const ops::Operator& op) { range.read_by(use, op.operands[use.index]); });
    auto found = range.found();
    if (found && found->bound && found->lowest >= *found->bound) found->lowest = 0;
    if (found) ranges.emplace(input->name(), *found);
  }
  return ranges;
}

}  // namespace thaw::infer
