#include "thaw/check/islands.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace thaw::checking {
namespace {

constexpr Side T = Side::kTarget, E = Side::kElsewhere;

TEST(Islands, AChainIsCutWhereANodeRunsElsewhere) {
  EXPECT_EQ(count_islands({T, T, T}, {{0, 1}, {1, 2}}), 1u);
  EXPECT_EQ(count_islands({T, E, T}, {{0, 1}, {1, 2}}), 2u);
  EXPECT_EQ(count_islands({E, E}, {{0, 1}}), 0u);
  EXPECT_EQ(count_islands({}, {}), 0u);
}

TEST(Islands, WhatIsNotConnectedIsApart) { EXPECT_EQ(count_islands({T, T}, {}), 2u); }

// 0 -> 1 -> 2 and 0 -> 2: connected, but 2 waits for what runs elsewhere after 0.
TEST(Islands, WhatIsLeftAndEnteredAgainIsCut) { EXPECT_EQ(count_islands({T, E, T}, {{0, 1}, {1, 2}, {0, 2}}), 2u); }

// A branch that feeds the second half waits for nothing, and runs with it.
TEST(Islands, ABranchWithoutCyclesIsNotCut) {
  EXPECT_EQ(count_islands({T, E, T, T}, {{0, 1}, {1, 2}, {3 - 1, 3}}), 2u);
  // 0 elsewhere -> 1; 2 -> 3; 1 -> 3: all on the target but 0 are one part.
  EXPECT_EQ(count_islands({E, T, T, T}, {{0, 1}, {2, 3}, {1, 3}}), 1u);
}

// 0 -> 1 -> 3 and 0 -> 3, and a weight 2 that 3 reads: it runs with 3.
TEST(Islands, WhatWaitsForNothingGoesWithWhatReadsIt) {
  EXPECT_EQ(count_islands({T, E, T, T}, {{0, 1}, {1, 3}, {0, 3}, {2, 3}}), 2u);
}

// Against a graph's definition: no more parts than nodes, no fewer than what is connected; and one more side change never joins.
RC_GTEST_PROP(Islands, AreBetweenConnectedPartsAndNodes, ()) {
  const size_t count = *rc::gen::inRange<size_t>(1, 9);
  std::vector<Side> sides;
  for (size_t i = 0; i < count; ++i) sides.push_back(*rc::gen::element(T, T, E));
  std::vector<std::pair<size_t, size_t>> edges;
  for (size_t to = 1; to < count; ++to)
    for (size_t from = 0; from < to; ++from)
      if (*rc::gen::inRange(0, 3) == 0) edges.emplace_back(from, to);
  const size_t islands = count_islands(sides, edges);
  const auto on_target = static_cast<size_t>(std::count(sides.begin(), sides.end(), T));
  RC_ASSERT(islands <= on_target);
  RC_ASSERT((islands == 0) == (on_target == 0));
  // Nodes of which one is reached from the other by way of what runs elsewhere are never in one part: there are at least as many
  // parts as the longest path has stays on the target.
  std::vector<size_t> stays(count, 0);
  size_t longest = 0;
  for (size_t to = 0; to < count; ++to) {
    stays[to] = sides[to] == T ? 1 : 0;
    for (const auto& [from, at] : edges)
      if (at == to) stays[to] = std::max(stays[to], stays[from] + (sides[to] == T && sides[from] == E ? 1 : 0));
    longest = std::max(longest, stays[to]);
  }
  RC_ASSERT(islands >= longest);
}

}  // namespace
}  // namespace thaw::checking
