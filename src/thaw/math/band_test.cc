#include "thaw/math/band.h"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::math {
namespace {

std::optional<Band> band_in(int64_t rows, int64_t columns, const std::function<bool(int64_t)>& is_inside) {
  return band_of([&](const auto& visit) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) visit(j - i, is_inside(j - i));
  });
}

TEST(Band, HasTheLimitsThatItWasMadeWithWhereSomethingLiesBeyond) {
  constexpr int64_t kRows = 4, kColumns = 6;
  for (int64_t low = 1 - kRows; low < kColumns; ++low) {
    for (int64_t high = low; high < kColumns; ++high) {
      const auto found =
          band_in(kRows, kColumns, [&](int64_t distance) { return low <= distance && distance <= high; });
      ASSERT_TRUE(found);
      EXPECT_EQ(found->low, low > 1 - kRows ? std::optional(low) : std::nullopt);
      EXPECT_EQ(found->high, high < kColumns - 1 ? std::optional(high) : std::nullopt);
    }
  }
}

TEST(Band, IsNoneWhereThereIsAHoleOrNothing) {
  EXPECT_EQ(band_in(3, 3, [](int64_t distance) { return distance != 0; }), std::nullopt);
  EXPECT_EQ(band_in(3, 3, [](int64_t) { return false; }), std::nullopt);
  EXPECT_EQ(band_in(0, 3, [](int64_t) { return true; }), std::nullopt);
  EXPECT_EQ(band_in(3, 3, [](int64_t) { return true; }), Band());
}

}  // namespace
}  // namespace thaw::math
