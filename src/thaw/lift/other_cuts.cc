#include "thaw/lift/other_cuts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "thaw/lift/align/slice.h"
#include "thaw/lift/around/beside_cut.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

bool cuts_from_start(ir::Node& node) {
  const auto slice = cuts(node) ? written_slice(node) : std::nullopt;
  return slice && slice->begin == 0 && slice->end > 0;
}

// The axes that a chain of Slices cuts, from its last one back to one that does not say.
struct CutAxes {
  std::set<size_t> axes;
  bool are_all = true;  // whether each says
};
CutAxes axes_of_chain(ir::Node* last, size_t rank) {
  CutAxes cut;
  for (ir::Node* node = last; node && cuts(*node) && cut.are_all; node = node->input(0)->producer()) {
    const auto slice = written_slice(*node);
    cut.are_all = slice.has_value();
    if (slice) cut.axes.insert(slice->axis_of(rank));
  }
  return cut;
}

// Before an operand of a node of a trace.
void put_cut(ir::Node& reader, int operand, size_t axis, int64_t end, const std::string& name, ir::Graph& graph) {
  const auto list = [&](std::string_view what, int64_t value) {
    return graph.add_initializer(
        ir::Tensor::from_int64(graph.unique_name(fmt::format("{}_{}", name, what)), {1}, std::vector<int64_t>{value}));
  };
  ir::Value* cut = graph.add_value(graph.unique_name(name));
  graph.add_node("Slice", "",
                 {reader.input(operand), list("start", 0), list("end", end), list("axis", static_cast<int64_t>(axis)),
                  list("step", 1)},
                 {cut}, cut->name(), &reader);
  reader.set_input(operand, cut);
}

struct LackingCut {
  size_t reader;  // its place among the aligned nodes
  int operand;
  size_t axis;
  std::vector<int64_t> ends;  // by trace
  std::string name;
};

// Whether the node cuts the axis itself, or a Slice behind it that is the next of a chain.
bool cuts_axis(ir::Node* node, size_t axis, size_t rank) {
  while (cuts(*node)) {
    const auto slice = written_slice(*node);
    if (slice && slice->axis_of(rank) == axis) return true;
    const ir::Value* made = node->output(0);
    if (!made || made->uses().size() != 1) return false;
    node = made->uses().front().node;
  }
  return false;
}

// What lacks a cut along other axes than those that a chain of Slices, which ends there, cuts.
void find_lacking(const Lifting& l, ir::Node* last, const BesideCut& beside, size_t reader,
                  std::vector<LackingCut>& cuts) {
  const auto cut = l.tensor_shapes.find(last->output(0)),
             other = l.tensor_shapes.find(beside.node->input(beside.other));
  if (cut == l.tensor_shapes.end() || other == l.tensor_shapes.end()) return;
  const ops::Shape &here = cut->second, &there = other->second;
  const CutAxes known = axes_of_chain(last, here.size());
  if (here.size() != there.size() || !known.are_all) return;
  for (size_t axis = 0; axis < here.size(); ++axis) {
    if (known.axes.contains(axis) || !here[axis].is_symbolic() || !there[axis].is_symbolic()) continue;
    std::vector<int64_t> ends = in_traces(here[axis], l.variables);
    const bool is_large = std::ranges::all_of(ends, [](int64_t end) { return end > 1; });
    if (dim::same(here[axis], there[axis]) || !is_large || ends != in_traces(there[axis], l.variables)) continue;
    cuts.push_back({reader, beside.cut, axis, std::move(ends), fmt::format("{}_along_{}", last->name, axis)});
  }
}

// One side of a grid: what it was, and what it was padded to.
struct PaddedSide {
  dim::Dim size, whole;
};
using Padded = std::vector<PaddedSide>;  // two sides or more, padded by one node

// Whether two expressions are the same, or come to the same at many sizes, whole or not: those behind a roll are long, as they hold
// where there is nothing to roll.
bool measures_alike(dim::Dim a, dim::Dim b, std::span<const Variable> variables) {
  constexpr int64_t kSamples = 12;
  if (dim::same(a, b)) return true;
  if (!a.is_symbolic() || !b.is_symbolic()) return false;
  for (int64_t n = 0; n < kSamples; ++n) {
    const auto sample = [&](size_t i) {
      const Variable& v = variables[i];
      return v.at[static_cast<size_t>(n) % v.at.size()] + (v.varies() ? n * (n + 1) / 2 + static_cast<int64_t>(i) : 0);
    };
    const auto x = value_at(a, variables, sample), y = value_at(b, variables, sample);
    if (!x || !y || *x != *y) return false;
  }
  return true;
}

std::vector<Padded> padded_grids(const Lifting& l) {
  std::vector<Padded> grids;
  for (const ir::Node* node : l.alignment.nodes.front()) {
    if (ops::role_of(*node, 1) != ops::Role::kPads) continue;
    const auto data = l.tensor_shapes.find(node->input(0)), made = l.tensor_shapes.find(node->output(0));
    if (data == l.tensor_shapes.end() || made == l.tensor_shapes.end()) continue;
    Padded sides;
    for (size_t axis = 0; axis < std::min(data->second.size(), made->second.size()); ++axis)
      if (const PaddedSide side{data->second[axis], made->second[axis]};
          side.size.is_symbolic() && side.whole.is_symbolic() && !measures_alike(side.size, side.whole, l.variables))
        sides.push_back(side);
    const auto is_same = [&](const Padded& other) {
      return std::ranges::equal(other, sides, [](const PaddedSide& a, const PaddedSide& b) {
        return dim::same(a.size, b.size) && dim::same(a.whole, b.whole);
      });
    };
    if (sides.size() > 1 && std::ranges::none_of(grids, is_same)) grids.push_back(std::move(sides));
  }
  return grids;
}

// What a Slice that cuts one side of such a grid down to what it was leaves padded: sides that are whole in every trace.
void find_padded(const Lifting& l, ir::Node* slice, const std::vector<Padded>& grids,
                 const std::unordered_map<const ir::Node*, size_t>& places, std::vector<LackingCut>& cuts) {
  const auto data = l.tensor_shapes.find(slice->input(0)), made = l.tensor_shapes.find(slice->output(0));
  if (data == l.tensor_shapes.end() || made == l.tensor_shapes.end() || data->second.size() != made->second.size())
    return;
  const auto axis_of = [&](const PaddedSide& side, dim::Dim now) {
    for (size_t axis = 0; axis < made->second.size(); ++axis)
      if (measures_alike(data->second[axis], side.whole, l.variables) &&
          measures_alike(made->second[axis], now, l.variables))
        return std::optional<size_t>(axis);
    return std::optional<size_t>();
  };
  const std::set<size_t> cut_before = axes_of_chain(slice, made->second.size()).axes;
  for (const Padded& grid : grids) {
    if (std::ranges::none_of(grid, [&](const PaddedSide& side) { return axis_of(side, side.size).has_value(); }))
      continue;
    for (const PaddedSide& side : grid) {
      const auto axis = axis_of(side, side.size) ? std::nullopt : axis_of(side, side.whole);
      if (axis && cut_before.contains(*axis)) continue;
      std::vector<int64_t> ends = axis ? in_traces(side.size, l.variables) : std::vector<int64_t>();
      if (ends.empty() || ends != in_traces(side.whole, l.variables)) continue;
      for (const ir::Use& use : slice->output(0)->uses())
        if (const auto reader = places.find(use.node);
            reader != places.end() && !cuts_axis(use.node, *axis, made->second.size()))
          cuts.push_back({reader->second, use.index, *axis, ends, fmt::format("{}_along_{}", slice->name, *axis)});
    }
    return;
  }
}

}  // namespace

bool cut_other_axes(Lifting& l) {
  const auto& nodes = l.alignment.nodes;
  std::unordered_map<const ir::Node*, size_t> places;
  for (size_t i = 0; i < nodes.front().size(); ++i) places.emplace(nodes.front()[i], i);
  const std::vector<Padded> grids = padded_grids(l);
  std::vector<LackingCut> lacking;
  for (size_t i = 0; i < nodes.front().size(); ++i) {
    ir::Node* slice = nodes.front()[i];
    if (!std::ranges::all_of(nodes, [&](const auto& of_trace) { return cuts_from_start(*of_trace[i]); })) continue;
    const BesideCut beside = beside_cut(*slice);
    const size_t before = lacking.size();
    // The last of a chain alone.
    if (beside.node && beside.node->input(beside.cut)->producer() == slice)
      if (const auto reader = places.find(beside.node); reader != places.end())
        find_lacking(l, slice, beside, reader->second, lacking);
    if (lacking.size() == before) find_padded(l, slice, grids, places, lacking);
  }
  for (const LackingCut& cut : lacking)
    for (size_t k = 0; k < nodes.size(); ++k)
      put_cut(*nodes[k][cut.reader], cut.operand, cut.axis, cut.ends[k], cut.name, *l.traces[k].model->graph);
  return !lacking.empty();
}

}  // namespace thaw::lifting
