#include "thaw/lift/onetrace/search.h"

#include <set>

#include <gtest/gtest.h>

namespace thaw::lifting::onetrace {
namespace {

Component component(const std::vector<double>& costs) {
  Component c;
  for (const double cost : costs) c.combinations.push_back({{}, cost});
  return c;
}

double cost_of(const std::vector<Component>& components, const std::vector<size_t>& chosen) {
  double cost = 0;
  for (size_t c = 0; c < chosen.size(); ++c) cost += components[c].combinations[chosen[c]].cost;
  return cost;
}

TEST(Search, TriesEachChoiceOnceFromTheCheapestOn) {
  const std::vector<Component> components = {component({2, 3.5, 7}), component({1}), component({0, 0, 4, 5}),
                                             component({3, 3.25}), component({5, 9, 9.5})};
  std::set<std::vector<size_t>> seen;
  double last = 0;
  const SearchResult result = search(components, 1000, [&](const std::vector<size_t>& chosen) {
    EXPECT_TRUE(seen.insert(chosen).second);
    EXPECT_GE(cost_of(components, chosen), last);
    last = cost_of(components, chosen);
    return TrialResult{};
  });
  EXPECT_EQ(seen.size(), 3U * 1 * 4 * 2 * 3);
  EXPECT_EQ(result.tries, 72);
  EXPECT_FALSE(result.chosen);
  EXPECT_FALSE(result.bounded);
}

TEST(Search, StopsAtTheFirstThatAgrees) {
  const std::vector<Component> components = {component({1, 2}), component({1, 9}), component({1, 4})};
  const std::vector<size_t> wanted = {1, 0, 1};
  const SearchResult result =
      search(components, 1000, [&](const std::vector<size_t>& chosen) { return TrialResult{chosen == wanted, {}}; });
  EXPECT_EQ(result.chosen, wanted);
  EXPECT_EQ(result.tries, 4);  // nothing, the first, the third, both
}

TEST(Search, PassesOverWhatFailedForTheSameReason) {
  // Component 3 is wrong unless its dearest combination is taken; the others are of no account to it.
  const std::vector<Component> components = {component({0, 1, 2}), component({0, 1, 2}), component({0, 1, 2}),
                                             component({0, 6, 9})};
  const std::vector<size_t> wanted = {0, 1, 0, 2};
  const SearchResult result = search(components, 1000, [&](const std::vector<size_t>& chosen) {
    if (chosen[3] != 2) return TrialResult{false, std::vector<size_t>{3}};
    return TrialResult{chosen == wanted, {}};
  });
  EXPECT_EQ(result.chosen, wanted);
  EXPECT_LE(result.tries, 2 + 4);  // once for each wrong one, then the cheap ones among the rest
}

TEST(Search, StopsWhereNoChoiceMatters) {
  const std::vector<Component> components(20, component({0, 1}));
  const SearchResult result =
      search(components, 1000, [](const auto&) { return TrialResult{false, std::vector<size_t>()}; });
  EXPECT_EQ(result.tries, 1);
  EXPECT_FALSE(result.bounded);
}

TEST(Search, IsBounded) {
  const std::vector<Component> components(20, component({0, 1}));
  const SearchResult result = search(components, 7, [](const auto&) { return TrialResult{}; });
  EXPECT_EQ(result.tries, 7);
  EXPECT_TRUE(result.bounded);
}

TEST(Search, TriesNothingElseWhereThereIsNoChoice) {
  const std::vector<Component> components;
  const SearchResult result = search(components, 7, [](const auto& chosen) { return TrialResult{chosen.empty(), {}}; });
  EXPECT_TRUE(result.chosen);
  EXPECT_EQ(result.tries, 1);
}

}  // namespace
}  // namespace thaw::lifting::onetrace
