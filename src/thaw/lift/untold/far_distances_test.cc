#include "thaw/lift/untold/far_distances.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

ir::Tensor table(int64_t rows, int64_t columns, auto number_of) {
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) numbers.push_back(number_of(column - row - (columns - rows)));
  return ir::Tensor::from_int64("numbers", {1, rows, columns}, numbers);
}

// Raffel et al. 2020, as transformers has it: half of a side's numbers are exact, the others grow to a distance of 128.
int64_t bucket(int64_t behind, int64_t numbers, bool both) {
  int64_t number = 0, distance = -behind;
  if (both) {
    numbers /= 2;
    if (behind > 0) number = numbers;
    distance = std::abs(behind);
  }
  distance = std::max<int64_t>(distance, 0);
  const int64_t exact = numbers / 2;
  if (distance < exact) return number + distance;
  const double grown = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(128.0 / static_cast<double>(exact)) * static_cast<double>(numbers - exact);
  return number + std::min(exact + static_cast<int64_t>(grown), numbers - 1);
}

TEST(FarDistances, ABucketThatIsNotReachedIsOpen) {
  for (const bool both : {false, true}) {
    const int64_t exact = both ? 8 : 16;
    for (int64_t n = 3; n < 70; ++n) {
      const auto open = open_distance(table(n, n, [&](int64_t d) { return bucket(d, 32, both); }), 32);
      if (n - 1 < exact) {
        EXPECT_EQ(open, n - 1) << n << both;
      } else if (n - 1 > exact + 8) {
        EXPECT_EQ(open, std::nullopt) << n << both;
      }
    }
  }
}

TEST(FarDistances, WithAPastToo) {
  EXPECT_EQ(open_distance(table(3, 11, [](int64_t d) { return bucket(d, 32, false); }), 32), 10);
  EXPECT_EQ(open_distance(table(3, 61, [](int64_t d) { return bucket(d, 32, false); }), 32), std::nullopt);
}

TEST(FarDistances, PositionsGoOnAsTheyAre) {
  EXPECT_EQ(open_distance(table(9, 9, [](int64_t d) { return d + 511; }), 1023), std::nullopt);
  EXPECT_EQ(open_distance(table(9, 9, [](int64_t d) { return 511 - d; }), 1023), std::nullopt);
}

TEST(FarDistances, WhatIsWholeOrNoDistanceIsNotOpen) {
  EXPECT_EQ(open_distance(table(9, 9, [](int64_t d) { return std::max<int64_t>(-d, 0); }), 9), std::nullopt);
  EXPECT_EQ(open_distance(table(9, 9, [](int64_t d) { return std::min<int64_t>(std::abs(d), 4); }), 32), std::nullopt);
  const std::vector<int64_t> places = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(open_distance(ir::Tensor::from_int64("places", {3, 3}, places), 32), std::nullopt);
  EXPECT_EQ(open_distance(ir::Tensor::from_int64("list", {9}, places), 32), std::nullopt);
}

}  // namespace
}  // namespace thaw::lifting
