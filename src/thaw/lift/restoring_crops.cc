#include "thaw/lift/restoring_crops.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int kAmounts = 1;                                   // of a Pad
constexpr int kStarts = 1, kEnds = 2, kAxes = 3, kSteps = 4;  // of a Slice

// One side of a grid: what it was, and what it was padded to.
struct Side {
  dim::Dim size, whole;
};
using Padded = std::vector<Side>;  // two sides or more, padded by one node

bool same_side(const Side& a, const Side& b) { return dim::same(a.size, b.size) && dim::same(a.whole, b.whole); }

// The sides that a Pad fills; empty where that is one alone.
Padded padded_by(const ops::Fact& data, const ops::Fact& result) {
  Padded sides;
  if (!data.shape || !result.shape || data.rank() != result.rank()) return sides;
  for (int axis = 0; axis < data.rank(); ++axis)
    if (const Side side{data.dim(axis), result.dim(axis)};
        side.size.is_symbolic() && side.whole.is_symbolic() && !dim::same(side.size, side.whole))
      sides.push_back(side);
  return sides.size() > 1 ? sides : Padded();
}

std::vector<Padded> padded_grids(const ir::Graph& graph, const infer::Result& facts) {
  std::vector<Padded> grids;
  for (const ir::Node* node : graph.nodes()) {
    if (ops::role_of(*node, kAmounts) != ops::Role::kPads) continue;
    Padded sides = padded_by(facts.fact(node->input(0)), facts.fact(node->output(0)));
    const auto is_same = [&](const Padded& other) { return std::ranges::equal(other, sides, same_side); };
    if (!sides.empty() && std::ranges::none_of(grids, is_same)) grids.push_back(std::move(sides));
  }
  return grids;
}

// Whether it cuts from the first entry on, step by step, along axes that are written down.
bool cuts_the_end(const ir::Node& node) {
  if (ops::role_of(node, kStarts) != ops::Role::kBounds || ops::role_of(node, kEnds) != ops::Role::kBounds ||
      ops::role_of(node, kAxes) != ops::Role::kAxes)
    return false;
  const ir::Tensor *starts = constant_operand(node, kStarts), *axes = constant_operand(node, kAxes),
                   *steps = constant_operand(node, kSteps);
  if (!starts || !axes || !node.input(kEnds) || (node.input(kSteps) && !steps)) return false;
  const auto all = [](const ir::Tensor& tensor, int64_t value) {
    return std::ranges::all_of(tensor.to_int64(), [&](int64_t each) { return each == value; });
  };
  return all(*starts, 0) && (!steps || all(*steps, 1));
}

// The axes along which a Slice leaves a side padded that fills no window in any trace.
std::vector<std::pair<int64_t, Side>> left_padded(const ir::Node& cut, const infer::Result& facts,
                                                  const std::vector<Padded>& grids, const Lifting& l) {
  const ops::Fact &data = facts.fact(cut.input(0)), &result = facts.fact(cut.output(0));
  std::vector<std::pair<int64_t, Side>> left;
  if (!data.shape || !result.shape) return left;
  const auto axis_of = [&](const Side& side, bool is_cut) {
    for (int axis = 0; axis < data.rank(); ++axis)
      if (dim::same(data.dim(axis), side.whole) && dim::same(result.dim(axis), is_cut ? side.size : side.whole))
        return axis;
    return -1;
  };
  for (const Padded& grid : grids) {
    const auto is_cut = [&](const Side& side) { return axis_of(side, true) >= 0; };
    if (std::ranges::none_of(grid, is_cut)) continue;
    for (const Side& side : grid) {
      const int axis = is_cut(side) ? -1 : axis_of(side, false);
      if (axis < 0 || in_traces(side.size, l.variables) != in_traces(side.whole, l.variables)) continue;
      if (l.sizes->can_emit(side.size)) left.emplace_back(axis, side);
    }
    if (!left.empty()) return left;
  }
  return left;
}

void cut_too(ir::Node& cut, const std::vector<std::pair<int64_t, Side>>& sides, Lifting& l) {
  TableEmitter e(*l.sizes, &cut);
  std::vector<int64_t> starts = constant_operand(cut, kStarts)->to_int64(),
                       axes = constant_operand(cut, kAxes)->to_int64();
  std::vector<ir::Value*> ends{e.emit("Reshape", {e.cast(cut.input(kEnds), ir::DataType::kInt64), e.list({-1})})};
  for (const auto& [axis, side] : sides) {
    starts.push_back(0);
    axes.push_back(axis);
    ends.push_back(e.size(side.size));
  }
  const std::vector<int64_t> steps(starts.size(), 1);
  ir::Value* const inputs[] = {cut.input(0), e.list(starts), e.concat(ends, 0), e.list(axes), e.list(steps)};
  cut.set_inputs(inputs);
}

}  // namespace

void restore_crops(Lifting& l) {
  const auto pads = [](const Difference& difference) {
    return ops::role_of(*difference.node, difference.input) == ops::Role::kPads;
  };
  if (std::ranges::none_of(l.alignment.differences, pads)) return;
  ir::Graph& graph = *l.model().graph;
  const infer::Result facts = infer::infer(l.model(), l.scope);
  const std::vector<Padded> grids = padded_grids(graph, facts);
  if (grids.empty()) return;
  const std::vector<ir::Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  for (ir::Node* node : nodes) {
    if (!cuts_the_end(*node)) continue;
    const auto sides = left_padded(*node, facts, grids, l);
    if (sides.empty()) continue;
    for (const auto& [axis, side] : sides)
      l.report.lifted.push_back(
          {node->describe(),
           fmt::format("cuts axis {} down to {} too, which was padded with it", axis, dim::to_string(side.size)),
           {}});
    cut_too(*node, sides, l);
  }
}

}  // namespace thaw::lifting
