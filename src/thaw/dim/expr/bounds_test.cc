// Interval arithmetic: every result of members lies in the result of the intervals, also at the ends of int64.
#include "thaw/dim/expr/bounds.h"

#include <vector>

#include <gtest/gtest.h>

namespace thaw::dim {
namespace {

constexpr int64_t kLow = Bounds::kMinusInfinity;
constexpr int64_t kHigh = Bounds::kPlusInfinity;

std::vector<Bounds> small_intervals() {
  std::vector<Bounds> all;
  for (int64_t lower = -4; lower <= 4; ++lower) {
    for (int64_t upper = lower; upper <= 4; ++upper) all.push_back({lower, upper});
  }
  return all;
}

TEST(BoundsTest, SmallIntervalsAreExactOrWider) {
  for (const Bounds& a : small_intervals()) {
    for (const Bounds& b : small_intervals()) {
      const Bounds sum = a + b;
      const Bounds product = a * b;
      const Bounds quotient = floor_div(a, b);
      bool low_met = false;
      bool high_met = false;
      for (int64_t x = a.lower; x <= a.upper; ++x) {
        for (int64_t y = b.lower; y <= b.upper; ++y) {
          ASSERT_TRUE(sum.contains(x + y));
          ASSERT_TRUE(product.contains(x * y));
          low_met |= product.lower == x * y;
          high_met |= product.upper == x * y;
          ASSERT_TRUE(y == 0 || quotient.contains(floor_quotient(x, y)));
        }
      }
      ASSERT_TRUE(low_met && high_met) << "products of intervals are tight";
      ASSERT_EQ(sum.lower, a.lower + b.lower);
      ASSERT_EQ(sum.upper, a.upper + b.upper);
    }
  }
}

TEST(BoundsTest, PowersAndFactors) {
  for (const Bounds& a : small_intervals()) {
    for (int64_t x = a.lower; x <= a.upper; ++x) {
      ASSERT_TRUE(power(a, 2).contains(x * x));
      ASSERT_TRUE(power(a, 3).contains(x * x * x));
      ASSERT_TRUE((-3 * a).contains(-3 * x));
    }
    ASSERT_GE(power(a, 2).lower, 0);
  }
}

TEST(BoundsTest, EndsPastInt64BecomeInfiniteOrStopShort) {
  const Bounds top{kHigh - 2, kHigh - 1};
  EXPECT_EQ((top + top).lower, kHigh - 1);
  EXPECT_FALSE((top + top).has_upper());
  EXPECT_FALSE((top * top).has_upper());
  EXPECT_EQ((-1 * (top + top)).upper, -(kHigh - 1));
  const Bounds bottom{kLow + 1, kLow + 2};
  EXPECT_FALSE((bottom + bottom).has_lower());
  EXPECT_EQ((bottom + bottom).upper, kLow + 1);
  EXPECT_FALSE((bottom * top).has_lower());
}

TEST(BoundsTest, InfiniteEnds) {
  const Bounds all;
  const Bounds from_one{1, kHigh};
  EXPECT_EQ((from_one + from_one).lower, 2);
  EXPECT_FALSE((all + from_one).has_lower());
  EXPECT_EQ((from_one * from_one).lower, 1);
  EXPECT_EQ((Bounds{0, kHigh} * from_one).lower, 0);
  EXPECT_FALSE((from_one * all).has_lower());
  EXPECT_EQ((0 * all).lower, 0);
  EXPECT_EQ((0 * all).upper, 0);
  EXPECT_EQ(floor_div(Bounds{0, 9}, from_one).lower, 0);
  EXPECT_EQ(floor_div(Bounds{0, 9}, from_one).upper, 9);
  EXPECT_EQ(floor_div(Bounds{-9, 9}, from_one).lower, -9);
  EXPECT_FALSE(floor_div(all, Bounds{2, 2}).has_lower());
  EXPECT_FALSE(floor_div(Bounds{3, 3}, Bounds{0, 0}).has_lower());  // nothing is said of a division by zero
}

TEST(BoundsTest, QuotientsRoundDown) {
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b : {-7, -2, -1, 1, 3, 8}) {
      const int64_t q = floor_quotient(a, b);
      const int64_t r = floor_remainder(a, b);
      ASSERT_EQ(q * b + r, a);
      ASSERT_TRUE(b > 0 ? r >= 0 && r < b : r <= 0 && r > b);
    }
  }
}

}  // namespace
}  // namespace thaw::dim
