#include "thaw/check/islands.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "thaw/core/disjoint_sets.h"

namespace thaw::checking {
namespace {

using Edges = std::vector<std::pair<size_t, size_t>>;

// The groups that lie on a cycle of groups, or between two: those that remain where groups without predecessors are taken away, one
// after the other, and then those without successors.
std::vector<bool> groups_in_cycles(const std::set<std::pair<size_t, size_t>>& edges, size_t count) {
  std::vector<bool> remains(count, true);
  for (const bool forward : {true, false}) {
    std::vector<std::vector<size_t>> next(count);
    std::vector<size_t> waits_for(count, 0), ready;
    for (const auto& [from, to] : edges) {
      if (!remains[from] || !remains[to]) continue;
      next[forward ? from : to].push_back(forward ? to : from);
      ++waits_for[forward ? to : from];
    }
    for (size_t i = 0; i < count; ++i)
      if (remains[i] && waits_for[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const size_t at = ready.back();
      ready.pop_back();
      remains[at] = false;
      for (const size_t to : next[at])
        if (--waits_for[to] == 0) ready.push_back(to);
    }
  }
  return remains;
}

// A number for each node that no edge lowers, and that each change of sides raises: as high as what follows allows, so that what waits
// for nothing, such as a weight that is dequantized, goes with what reads it.
std::vector<size_t> changes_before(const std::vector<Side>& sides, const Edges& sorted) {
  const auto step = [&](size_t from, size_t to) { return sides[from] == sides[to] ? size_t{0} : size_t{1}; };
  std::vector<size_t> least(sides.size(), 0), changes(sides.size(), SIZE_MAX);
  for (const auto& [from, to] : sorted) least[to] = std::max(least[to], least[from] + step(from, to));
  for (size_t node = sides.size(), edge = sorted.size(); node-- > 0;) {
    for (; edge > 0 && sorted[edge - 1].first == node; --edge)
      changes[node] = std::min(changes[node], changes[sorted[edge - 1].second] - step(node, sorted[edge - 1].second));
    if (changes[node] == SIZE_MAX) changes[node] = least[node];
  }
  return changes;
}

}  // namespace

size_t count_islands(const std::vector<Side>& sides, const Edges& edges) {
  const size_t count = sides.size();
  const auto is_inside = [&](const std::pair<size_t, size_t>& edge) {
    return sides[edge.first] == Side::kTarget && sides[edge.second] == Side::kTarget;
  };
  DisjointSets connected(count);
  for (const auto& edge : edges)
    if (is_inside(edge)) connected.join(edge.first, edge.second);
  std::set<std::pair<size_t, size_t>> between;
  for (const auto& [from, to] : edges)
    if (connected.first_of(from) != connected.first_of(to))
      between.emplace(connected.first_of(from), connected.first_of(to));
  const std::vector<bool> is_cut = groups_in_cycles(between, count);
  // What is left and entered again is cut where paths change sides: within one number of changes none can come back.
  Edges sorted = edges;
  std::ranges::sort(sorted);
  const std::vector<size_t> changes = changes_before(sides, sorted);
  DisjointSets islands(count);
  for (const auto& edge : edges) {
    if (!is_inside(edge)) continue;
    if (is_cut[connected.first_of(edge.first)] && changes[edge.first] != changes[edge.second]) continue;
    islands.join(edge.first, edge.second);
  }
  std::set<size_t> found;
  for (size_t i = 0; i < count; ++i)
    if (sides[i] == Side::kTarget) found.insert(islands.first_of(i));
  return found.size();
}

}  // namespace thaw::checking
