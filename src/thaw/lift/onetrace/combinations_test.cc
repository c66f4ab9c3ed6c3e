#include "thaw/lift/onetrace/combinations.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace thaw::lifting::onetrace {
namespace {

// What together says more than it may: conditions forbid some pairs and triples of options.
struct Drawn {
  std::vector<std::vector<Option>> options;
  std::vector<std::vector<size_t>> conditions;
  std::vector<std::set<std::vector<size_t>>> allowed;  // by condition, options of its unknowns
};

Drawn drawn(std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  Drawn d;
  const size_t size = 1 + below(5);
  for (size_t i = 0; i < size; ++i) {
    std::vector<Option>& own = d.options.emplace_back();
    const size_t count = 1 + below(4);
    for (size_t p = 0; p < count; ++p) own.push_back({static_cast<double>(below(40)) / 4, 10 * below(2) + p});
    std::ranges::stable_sort(own, {}, &Option::cost);
  }
  const size_t num_conditions = below(4);
  for (size_t c = 0; c < num_conditions; ++c) {
    std::set<size_t> unknowns;
    while (unknowns.size() < std::min<size_t>(size, 1 + below(3))) unknowns.insert(below(size));
    d.conditions.emplace_back(unknowns.begin(), unknowns.end());
    std::set<std::vector<size_t>>& allowed = d.allowed.emplace_back();
    for (size_t n = 0; n < 20; ++n) {
      std::vector<size_t> chosen;
      for (const size_t i : d.conditions.back()) chosen.push_back(below(d.options[i].size()));
      allowed.insert(std::move(chosen));
    }
  }
  return d;
}

bool meets(const Drawn& d, size_t condition, const std::vector<size_t>& chosen) {
  std::vector<size_t> own;
  for (const size_t i : d.conditions[condition]) own.push_back(chosen[i]);
  return d.allowed[condition].contains(own);
}

double cost_of(const Drawn& d, const std::vector<size_t>& chosen) {
  double cost = 0;
  std::set<size_t> said;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Option& option = d.options[i][chosen[i]];
    cost += said.insert(option.says).second ? option.cost : std::min(option.cost, kAgain);
  }
  return cost;
}

// All of them, with what each costs.
std::set<std::pair<double, std::vector<size_t>>> by_brute_force(const Drawn& d) {
  std::set<std::pair<double, std::vector<size_t>>> all;
  std::vector<size_t> chosen(d.options.size(), 0);
  while (true) {
    bool holds = true;
    for (size_t c = 0; c < d.conditions.size(); ++c) holds = holds && meets(d, c, chosen);
    if (holds) all.emplace(cost_of(d, chosen), chosen);
    size_t i = 0;
    while (i < chosen.size() && ++chosen[i] == d.options[i].size()) chosen[i++] = 0;
    if (i == chosen.size()) return all;
  }
}

Combinations found(const Drawn& d, const CombinationBounds& bounds = {}) {
  std::vector<size_t> chosen(d.options.size());
  return cheapest_combinations(
      d.options, d.conditions, [&](size_t i, size_t option) { chosen[i] = option; },
      [&](size_t c) { return meets(d, c, chosen); }, bounds);
}

TEST(Combinations, AreThoseOfBruteForceFromTheCheapestOn) {
  std::mt19937 random(7);
  for (int n = 0; n < 2'000; ++n) {
    const Drawn d = drawn(random);
    const auto all = by_brute_force(d);
    const Combinations some = found(d, {.most_found = 10'000});
    ASSERT_FALSE(some.bounded);
    ASSERT_EQ(some.found.size(), all.size());
    auto wanted = all.begin();
    std::set<std::vector<size_t>> seen;
    for (const Combination& each : some.found) {
      EXPECT_DOUBLE_EQ(each.cost, wanted->first);
      EXPECT_DOUBLE_EQ(each.cost, cost_of(d, each.options));
      EXPECT_TRUE(all.contains({cost_of(d, each.options), each.options}));
      EXPECT_TRUE(seen.insert(each.options).second);
      ++wanted;
    }
  }
}

// Each as the one before it, and the first is told: the number of steps is that of the unknowns.
TEST(Combinations, FollowAChainStepByStep) {
  constexpr size_t kLength = 20'000;
  Drawn d;
  d.options.assign(kLength, {{3, 0}, {5, 1}});
  d.options.front() = {{5, 1}};
  std::vector<size_t> chosen(kLength);
  std::vector<std::vector<size_t>> pairs;
  for (size_t i = 1; i < kLength; ++i) pairs.push_back({i - 1, i});
  size_t asked = 0;
  const auto says = [&](size_t i) { return d.options[i][chosen[i]].says; };
  const Combinations all = cheapest_combinations(
      d.options, pairs, [&](size_t i, size_t option) { chosen[i] = option; },
      [&](size_t c) {
        ++asked;
        return says(c) == says(c + 1);
      });
  ASSERT_EQ(all.found.size(), 1U);
  EXPECT_FALSE(all.bounded);
  EXPECT_DOUBLE_EQ(all.found.front().cost, 5 + kAgain * (kLength - 1));
  EXPECT_LE(asked, 2 * kLength);
}

TEST(Combinations, SayWhereMoreCouldBeLookedAt) {
  Drawn d;
  d.options.assign(30, {{1, 0}, {1, 1}});
  const Combinations some = found(d, {.most_found = 10'000, .most_steps = 100});
  EXPECT_TRUE(some.bounded);
}

TEST(Combinations, MayDifferInOneUnknownOnly) {
  const std::vector<size_t> options = {3, 1, 4};
  EXPECT_EQ(only_difference(options, std::vector<size_t>{3, 1, 4}), std::nullopt);
  EXPECT_EQ(only_difference(options, std::vector<size_t>{0, 1, 4}), 0U);
  EXPECT_EQ(only_difference(options, std::vector<size_t>{3, 1, 5}), 2U);
  EXPECT_EQ(only_difference(options, std::vector<size_t>{3, 2, 5}), std::nullopt);
}

TEST(Combinations, AreNoneWhereAnUnknownHasNoOption) {
  Drawn d;
  d.options = {{{1, 0}}, {}};
  EXPECT_TRUE(found(d).found.empty());
}

}  // namespace
}  // namespace thaw::lifting::onetrace
