#include "thaw/sensitivity/assign.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace thaw::measuring {
namespace {

using Units = std::vector<std::vector<Choice>>;

struct Sum {
  int64_t saved = 0;
  double error = 0;
};

// Every assignment there is.
std::vector<Sum> all_sums(const Units& units) {
  std::vector<Sum> sums(1);
  for (const std::vector<Choice>& choices : units) {
    std::vector<Sum> longer = sums;
    for (const Choice& choice : choices)
      for (const Sum& sum : sums) longer.push_back({sum.saved + choice.saved, sum.error + choice.error});
    sums = std::move(longer);
  }
  return sums;
}

Units drawn_units() {
  const auto count = *rc::gen::inRange<size_t>(1, 6);
  Units units(count);
  for (std::vector<Choice>& choices : units) {
    choices.resize(*rc::gen::inRange<size_t>(0, 4));
    for (Choice& choice : choices)
      choice = {*rc::gen::inRange<int64_t>(-10, 200), static_cast<double>(*rc::gen::inRange(0, 1000))};
  }
  return units;
}

void expect_it_adds_up(const Units& units, const Assigned& assigned) {
  Sum sum;
  for (size_t i = 0; i < units.size(); ++i) {
    if (!assigned.choices[i]) continue;
    sum.saved += units[i].at(*assigned.choices[i]).saved;
    sum.error += units[i].at(*assigned.choices[i]).error;
  }
  RC_ASSERT(sum.saved == assigned.saved);
  RC_ASSERT(sum.error == assigned.error);
}

RC_GTEST_PROP(Assignment, LeastErrorThatSavesSoMuch, ()) {
  const Units units = drawn_units();
  const auto bytes = *rc::gen::inRange<int64_t>(0, 900);
  double best = std::numeric_limits<double>::infinity();
  for (const Sum& sum : all_sums(units))
    if (sum.saved >= bytes) best = std::min(best, sum.error);
  const std::optional<Assigned> found = Assignment(units).saving(bytes);
  RC_ASSERT(found.has_value() == (best < std::numeric_limits<double>::infinity()));
  if (!found) return;
  expect_it_adds_up(units, *found);
  RC_ASSERT(found->saved >= bytes);
  RC_ASSERT(found->error == best);
}

RC_GTEST_PROP(Assignment, MostBytesWithinAnError, ()) {
  const Units units = drawn_units();
  const auto limit = static_cast<double>(*rc::gen::inRange(0, 3000));
  int64_t most = 0;
  for (const Sum& sum : all_sums(units))
    if (sum.error <= limit) most = std::max(most, sum.saved);
  const Assigned found = Assignment(units).within(limit);
  expect_it_adds_up(units, found);
  RC_ASSERT(found.error <= limit);
  RC_ASSERT(found.saved == most);
}

// Steps of the grid are coarser than bytes: still within, and hardly off.
TEST(Assignment, ManyBytes) {
  Units units;
  for (int64_t i = 0; i < 40; ++i)
    units.push_back({{.saved = 10'000'019 + 7919 * i, .error = 1 + 0.1 * static_cast<double>(i % 7)},
                     {.saved = 5'000'011 + 104'729 * i, .error = 0.4}});
  const Assignment assignment(units);
  for (const int64_t bytes : {1L, 77'777'777L, 250'000'001L, 400'000'003L}) {
    const std::optional<Assigned> found = assignment.saving(bytes);
    ASSERT_TRUE(found);
    EXPECT_GE(found->saved, bytes);
    EXPECT_LT(found->saved, bytes + 12'000'000);
  }
  const std::optional<Assigned> all = assignment.saving(assignment.most());
  ASSERT_TRUE(all);
  EXPECT_EQ(all->saved, assignment.most());
  EXPECT_FALSE(assignment.saving(assignment.most() + 1));
  const std::vector<Assigned> frontier = assignment.frontier(20);
  EXPECT_GE(frontier.size(), 15U);
  for (size_t i = 1; i < frontier.size(); ++i) EXPECT_GE(frontier[i].error, frontier[i - 1].error);
}

// A limit that is the size of one precision for all is met by it, though rounding takes a step from each unit.
TEST(Assignment, JustTheBytesOfOnePrecision) {
  Units units;
  int64_t bytes = 0;
  for (const int64_t each : {8827, 5824, 2912, 4368, 4368, 3776, 5824, 2912, 4368, 4368, 3776, 8827}) {
    units.push_back({{.saved = each + each / 4, .error = 1}, {.saved = each, .error = 0.001}});
    bytes += each;
  }
  const std::optional<Assigned> found = Assignment(units).saving(bytes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->saved, bytes);
  EXPECT_NEAR(found->error, 0.012, 1e-9);
}

}  // namespace
}  // namespace thaw::measuring
