#include "thaw/lift/written_out.h"

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

// What the nodes of a trace cut of an axis, as it is counted there.
std::vector<Piece> pieces_of(ir::Node& cut, int64_t length) {
  std::vector<Piece> pieces;
  const auto add = [&](const Slice& slice) {
    const auto counted = [&](int64_t place) {
      return std::clamp<int64_t>(place < 0 ? place + length : place, 0, length);
    };
    if (const Piece piece{counted(slice.begin), counted(slice.end)}; piece.begin < piece.end) pieces.push_back(piece);
  };
  if (ops::role_of(cut, 1) == ops::Role::kBounds) {
    if (const auto slice = written_slice(cut)) add(*slice);
  } else {
    for (const ir::Value* output : cut.outputs())
      if (const auto slice = output ? slice_of(*output) : std::nullopt) add(*slice);
  }
  return pieces;
}

constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

// One end that a Slice of each trace writes, and that is past what there is, or there, in all of them.
int64_t end_past_all(const std::vector<std::vector<ir::Node*>>& nodes, size_t place, std::span<const int64_t> lengths) {
  constexpr int64_t kToTheEnd = (int64_t{1} << 31) - 1;  // and more: as far as it goes
  int64_t end = kNowhere;
  for (size_t k = 0; k < nodes.size(); ++k) {
    ir::Node& cut = *nodes[k][place];
    const auto slice = ops::role_of(cut, 1) == ops::Role::kBounds ? written_slice(cut) : std::nullopt;
    if (!slice || k >= lengths.size() || slice->end < lengths[k] || slice->end >= kToTheEnd) return kNowhere;
    if (std::exchange(end, slice->end) != slice->end && k > 0) return kNowhere;
  }
  return end;
}

std::optional<size_t> axis_that_is_cut(ir::Node& node, size_t rank) {
  if (ops::role_of(node, 1) == ops::Role::kBounds) {
    const auto slice = written_slice(node);
    return slice ? std::optional(slice->axis_of(rank)) : std::nullopt;
  }
  for (const ir::Value* output : node.outputs())
    if (const auto slice = output ? slice_of(*output) : std::nullopt) return slice->axis_of(rank);
  return std::nullopt;
}

}  // namespace

void note_cut_windows(Lifting& l) {
  using Axis = std::pair<const ir::Value*, size_t>;
  const auto& nodes = l.alignment.nodes;
  std::map<Axis, size_t> places;
  std::vector<Axis> axes;  // in the order of the nodes
  std::vector<dim::Dim> sizes;
  std::vector<std::vector<int64_t>> lengths;         // by axis and trace
  std::vector<std::vector<std::set<Piece>>> pieces;  // the same
  std::vector<int64_t> past_the_end;                 // by axis
  const auto given = input_shapes(l);
  std::set<const ir::Node*> batched;
  for (const Loop& loop : l.alignment.loops)
    for (const Slice& slice : loop.traces.front().slices) batched.insert(slice.node);
  for (size_t i = 0; i < nodes.front().size(); ++i) {
    ir::Node& node = *nodes.front()[i];
    const auto shape_of = [&](const ir::Value* value) -> const ops::Shape* {
      const auto known = l.tensor_shapes.find(value);
      if (known != l.tensor_shapes.end()) return &known->second;
      const auto input = given.find(value);
      return input == given.end() ? nullptr : &input->second;
    };
    if (node.inputs().empty() || !node.input(0) || batched.contains(&node)) continue;
    const ops::Shape* cut = shape_of(node.input(0));
    const auto axis = cut ? axis_that_is_cut(node, cut->size()) : std::nullopt;
    if (!axis || *axis >= cut->size()) continue;
    const ir::Value* whole = cut_along(node, *axis, cut->size());
    const ops::Shape* shape = shape_of(whole);
    if (!shape || *axis >= shape->size() || !(*shape)[*axis].is_symbolic()) continue;
    const auto [place, is_new] = places.try_emplace({whole, *axis}, axes.size());
    if (is_new) {
      axes.emplace_back(whole, *axis);
      sizes.push_back((*shape)[*axis]);
      lengths.push_back(in_traces(sizes.back(), l.variables));
      pieces.emplace_back(nodes.size());
      past_the_end.push_back(kNowhere);
    }
    past_the_end[place->second] = std::min(past_the_end[place->second], end_past_all(nodes, i, lengths[place->second]));
    const std::vector<int64_t>& at = lengths[place->second];
    for (size_t k = 0; k < std::min(nodes.size(), at.size()); ++k)
      for (const Piece& piece : pieces_of(*nodes[k][i], at[k])) pieces[place->second][k].insert(piece);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (lengths[i].size() != nodes.size()) continue;
    std::vector<std::vector<Piece>> sorted;
    for (const std::set<Piece>& each : pieces[i]) sorted.emplace_back(each.begin(), each.end());
    const auto windows = windows_of(sorted, lengths[i]);
    if (!windows) {
      if (past_the_end[i] != kNowhere) l.limits.push_back({sizes[i], dim::Dim(past_the_end[i])});
      continue;
    }
    const dim::Dim size = sizes[i] - dim::Dim(windows->first), stride(windows->stride), count(windows->count);
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
