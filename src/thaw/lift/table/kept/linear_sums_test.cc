#include "thaw/lift/table/kept/linear_sums.h"

#include <algorithm>
#include <initializer_list>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

// Places of a line of `side` entries, ends on ends, as many as each length says.
LinearSums places_between_ends(int64_t side, std::initializer_list<int64_t> lengths) {
  LinearSums sums(side);
  for (const int64_t n : lengths) {
    for (int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(i * (side - 1)) / static_cast<double>(n - 1);
      const auto low = std::min(static_cast<int64_t>(x), side - 2);
      const double rest = x - static_cast<double>(low);
      sums.add({{low, 1 - rest}, {low + 1, rest}});
    }
  }
  return sums;
}

TEST(LinearSums, CountsOnePlaceOnce) {
  EXPECT_EQ(places_between_ends(5, {5}).count_apart(), 5U);
  EXPECT_EQ(places_between_ends(5, {3, 5, 9}).count_apart(), 9U);
  EXPECT_EQ(places_between_ends(7, {4, 6}).count_apart(), 8U);
}

TEST(LinearSums, AreConfirmedByOtherPlacesAlone) {
  EXPECT_FALSE(places_between_ends(9, {9, 5, 3}).is_confirmed());  // eight of 17 are there twice or more
  EXPECT_FALSE(places_between_ends(85, {19, 37, 53}).is_confirmed());
  EXPECT_TRUE(places_between_ends(9, {9, 5, 3, 7, 6}).is_confirmed());
}

}  // namespace
}  // namespace thaw::lifting
