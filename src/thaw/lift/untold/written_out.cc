#include "thaw/lift/untold/written_out.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/cut_windows.h"
#include "thaw/lift/align/slice.h"
#include "thaw/lift/steps.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostPlaces = 64;  // written out; a loop of more steps has traces with others

bool is_axis(int64_t written, const SteadySize& steady, size_t rank) {
  return (written < 0 ? written + static_cast<int64_t>(rank) : written) == static_cast<int64_t>(steady.axis);
}

// The places along the axis that a node reads by their numbers; nullopt where it reads the axis otherwise.
std::optional<std::vector<int64_t>> places_of(const ir::Use& use, const SteadySize& steady, size_t rank) {
  ir::Node& node = *use.node;
  if (use.index != 0) return std::nullopt;
  std::vector<int64_t> places;
  if (ops::role_of(node, 1) == ops::Role::kIndex) {
    const ir::Tensor* index = constant_operand(node, 1);
    if (!index || index->dims.size() > 1 || !is_axis(node.attribute_int("axis", 0), steady, rank)) return std::nullopt;
    if (rank < 2 || index->num_elements() > kMostPlaces) return std::nullopt;
    places = index->to_int64();
  } else if (ops::role_of(node, 1) == ops::Role::kBounds) {
    const auto slice = node.output(0) ? slice_of(*node.output(0)) : std::nullopt;
    if (!slice || !is_axis(slice->axis, steady, rank)) return std::nullopt;
    for (int64_t place = slice->begin; place < std::min(slice->end, steady.at); ++place) places.push_back(place);
  } else {
    return std::nullopt;
  }
  for (int64_t& place : places)
    if (place < 0) place += steady.at;
  return places;
}

bool is_written_out(const SteadySize& steady) {
  if (steady.at > kMostPlaces || steady.value->is_output()) return false;
  std::set<int64_t> read;
  for (const ir::Use& use : steady.value->uses()) {
    if (ops::is_unread(ops::role_of(*use.node, use.index))) continue;
    const auto places = places_of(use, steady, steady.rank);
    if (places) read.insert(places->begin(), places->end());
  }
  return static_cast<int64_t>(read.size()) == steady.at;
}

// Whose axis it is that a node cuts: that of what is cut along other axes before.
ir::Value* cut_along(const ir::Node& cut, size_t axis, size_t rank) {
  ir::Value* value = cut.input(0);
  while (ir::Node* before = value->producer()) {
    if (ops::role_of(*before, 1) != ops::Role::kBounds) break;
    const auto slice = written_slice(*before);
    if (!slice || slice->axis_of(rank) == axis) break;
    value = before->input(0);
  }
  return value;
}

// All that a Slice or a Split cuts, as it is written.
std::vector<Slice> slices_of(ir::Node& cut) {
  std::vector<Slice> slices;
  if (ops::role_of(cut, 1) == ops::Role::kBounds) {
    if (const auto slice = written_slice(cut)) slices.push_back(*slice);
  } else {
    for (const ir::Value* output : cut.outputs())
      if (const auto slice = output ? slice_of(*output) : std::nullopt) slices.push_back(*slice);
  }
  return slices;
}

// As it is counted on an axis of this length; empty where there is nothing of it.
AxisPiece piece_of(const Slice& slice, int64_t length) {
  const auto counted = [&](int64_t place) {
    return std::clamp<int64_t>(place < 0 ? place + length : place, 0, length);
  };
  return {counted(slice.begin), counted(slice.end)};
}

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

// An axis of a tensor, and what nodes cut of it.
struct CutAxis {
  dim::Dim size;
  std::vector<int64_t> lengths;             // in each trace
  std::vector<std::set<AxisPiece>> pieces;  // the same
  int64_t past_the_end =
      kNowhere;  // the least end that a Slice of every trace writes, and that none has anything behind
};

// Adds what the node at this place cuts in each trace.
void add_cuts(const std::vector<std::vector<ir::Node*>>& nodes, size_t place, CutAxis& axis) {
  constexpr int64_t kAsFarAsItGoes = (int64_t{1} << 31) - 1;  // and more
  std::set<int64_t> ends;
  bool are_past = true;
  for (size_t k = 0; k < nodes.size(); ++k) {
    ir::Node& cut = *nodes[k][place];
    const std::vector<Slice> slices = slices_of(cut);
    are_past = are_past && slices.size() == 1 && ops::role_of(cut, 1) == ops::Role::kBounds;
    for (const Slice& slice : slices) {
      const AxisPiece piece = piece_of(slice, axis.lengths[k]);
      if (piece.begin < piece.end) axis.pieces[k].insert(piece);
      ends.insert(slice.end);
      are_past = are_past && slice.end >= axis.lengths[k] && slice.end < kAsFarAsItGoes;
    }
  }
  if (are_past && ends.size() == 1) axis.past_the_end = std::min(axis.past_the_end, *ends.begin());
}

// In the order of the nodes that cut.
std::vector<CutAxis> cut_axes(const Lifting& l) {
  const auto& nodes = l.alignment.nodes;
  const auto given = input_shapes(l);
  const auto shape_of = [&](const ir::Value* value) -> const ops::Shape* {
    const auto inner = l.tensor_shapes.find(value);
    if (inner != l.tensor_shapes.end()) return &inner->second;
    const auto input = given.find(value);
    return input == given.end() ? nullptr : &input->second;
  };
  std::set<const ir::Node*> batched;
  for (const Loop& loop : l.alignment.loops)
    for (const Slice& slice : loop.traces.front().slices) batched.insert(slice.node);
  std::map<std::pair<const ir::Value*, size_t>, size_t> known;
  std::vector<CutAxis> axes;
  for (size_t i = 0; i < nodes.front().size(); ++i) {
    ir::Node& node = *nodes.front()[i];
    if (batched.contains(&node)) continue;
    const std::vector<Slice> slices = slices_of(node);
    const ops::Shape* cut = slices.empty() ? nullptr : shape_of(node.input(0));
    const size_t axis = cut ? slices.front().axis_of(cut->size()) : 0;
    if (!cut || axis >= cut->size()) continue;
    const ir::Value* whole = cut_along(node, axis, cut->size());
    const ops::Shape* shape = shape_of(whole);
    if (!shape || axis >= shape->size() || !(*shape)[axis].is_symbolic()) continue;
    std::vector<int64_t> lengths = in_traces((*shape)[axis], l.variables);
    if (lengths.size() != nodes.size()) continue;
    const auto [place, is_new] = known.try_emplace({whole, axis}, axes.size());
    if (is_new) axes.push_back({(*shape)[axis], std::move(lengths), std::vector<std::set<AxisPiece>>(nodes.size())});
    add_cuts(nodes, i, axes[place->second]);
  }
  return axes;
}

}  // namespace

void note_cut_windows(Lifting& l) {
  for (const CutAxis& axis : cut_axes(l)) {
    std::vector<std::vector<AxisPiece>> pieces;
    for (const std::set<AxisPiece>& each : axis.pieces) pieces.emplace_back(each.begin(), each.end());
    const auto windows = windows_of(pieces, axis.lengths);
    if (!windows) {
      if (axis.past_the_end != kNowhere) l.limits.push_back({axis.size, dim::Dim(axis.past_the_end)});
      continue;
    }
    const dim::Dim size = axis.size - dim::Dim(windows->first), stride(windows->stride), count(windows->count);
    if (windows->has_short_last) {
      for (const int64_t left : {windows->least_left, windows->most_left})
        l.undecided.push_back({dim::ceil_div(size - dim::Dim(left), stride), count, ""});
    } else {
      l.undecided.push_back({dim::floor_div(size - dim::Dim(windows->length), stride) + dim::Dim(1), count, ""});
    }
  }
}

std::vector<SteadySize> written_out(std::span<const SteadySize> steady) {
  std::vector<SteadySize> found;
  std::ranges::copy_if(steady, std::back_inserter(found), is_written_out);
  return found;
}

}  // namespace thaw::lifting
