#include "thaw/lift/written_out.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/slice.h"
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

}  // namespace

std::vector<SteadySize> written_out(std::span<const SteadySize> steady) {
  std::vector<SteadySize> found;
  std::ranges::copy_if(steady, std::back_inserter(found), is_written_out);
  return found;
}

}  // namespace thaw::lifting
