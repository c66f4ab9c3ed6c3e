#include "thaw/lift/table/kept/learned_grid.h"

#include <set>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

// Places between two ends, as fractions of whole numbers that are the same in the same place.
size_t places_between_ends(const std::vector<int64_t>& lengths) {
  constexpr int64_t kAllLengths = 27720;  // the least common multiple of 1 … 12
  std::set<int64_t> places;
  for (const int64_t n : lengths)
    for (int64_t i = 0; i < n; ++i) places.insert(i * kAllLengths / (n - 1));
  return places.size();
}

std::vector<int64_t> all_other(int64_t side) {
  return alike(side, [](int64_t, int64_t) { return false; });
}

TEST(LearnedGrid, IsToldByPlacesThatDiffer) {
  for (const char* mode : {"linear", "cubic"})
    for (int64_t side = 2; side <= 9; ++side)
      for (int64_t a = 2; a <= 13; ++a)
        for (int64_t b = 2; b <= 13; ++b) {
          const std::vector<int64_t> lengths{a, b};
          const int64_t more = static_cast<int64_t>(places_between_ends(lengths)) - side;
          const bool is_told = more >= 3 || 4 * more >= side || (a == side && b == side);
          EXPECT_EQ(are_told(lengths, all_other(side), {mode, "align_corners"}), is_told)
              << side << ' ' << a << ' ' << b;
        }
}

TEST(LearnedGrid, IsNotToldByAnyFunctionOfThePlace) {
  const std::vector<int64_t> lengths{3, 4, 7}, others{3, 5, 7};
  EXPECT_FALSE(are_told(lengths, all_other(7), {"cubic", "align_corners"}));
  EXPECT_TRUE(are_told(lengths, all_other(7), {"cubic", "half_pixel"}));
  EXPECT_TRUE(are_told(others, all_other(7), {"cubic", "align_corners"}));
}

// Between two that are alike every place holds the same.
TEST(LearnedGrid, IsToldByEntriesThatDiffer) {
  const std::vector<int64_t> lengths{3, 4, 5};
  const auto is_near = [](int64_t a, int64_t b) { return (a == 0 && b == 1) || (a == 6 && b == 7); };
  EXPECT_EQ(alike(8, is_near), (std::vector<int64_t>{0, 0, 2, 3, 4, 5, 6, 6}));
  EXPECT_TRUE(are_told(lengths, all_other(8), {"linear", "half_pixel"}));
  EXPECT_FALSE(are_told(lengths, alike(8, is_near), {"linear", "half_pixel"}));
}

}  // namespace
}  // namespace thaw::lifting
