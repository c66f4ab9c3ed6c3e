#include "thaw/run/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::run {
namespace {

TEST(Random, IsAFunctionOfSeedAndName) {
  // Fixed numbers: what is drawn must not change from one version to the next, or from one machine to another.
  Random random(0, "x");
  const std::vector<uint64_t> first{random.next(), random.next()};
  Random again(0, "x"), other_name(0, "y"), other_seed(1, "x");
  EXPECT_EQ(again.next(), first[0]);
  EXPECT_EQ(again.next(), first[1]);
  EXPECT_NE(other_name.next(), first[0]);
  EXPECT_NE(other_seed.next(), first[0]);
}

TEST(Random, IntegersCoverTheirRangeAndStayInIt) {
  Random random(7, "ids");
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.integer(-3, 7));
  EXPECT_EQ(seen.size(), 11U);
  EXPECT_EQ(*seen.begin(), -3);
  EXPECT_EQ(*seen.rbegin(), 7);
  EXPECT_EQ(random.integer(5, 5), 5);
  for (int i = 0; i < 100; ++i) {
    const int64_t value = random.integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min() + 1);
    EXPECT_LE(value, std::numeric_limits<int64_t>::min() + 1);
  }
}

TEST(Random, NormalNumbersHaveMeanAndDeviation) {
  Random random(3, "x");
  double sum = 0, squares = 0, lowest = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
    lowest = std::min(lowest, value);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_LT(lowest, -3.5);
}

}  // namespace
}  // namespace thaw::run
