#include "thaw/sensitivity/propagated_noise.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace thaw::measuring {
namespace {

Array numbers(std::vector<int64_t> dims, const std::vector<float>& values) {
  Array array = Array::zeros(ir::DataType::kFloat, std::move(dims));
  std::memcpy(array.bytes.data(), values.data(), values.size() * sizeof(float));
  return array;
}

TEST(PropagatedNoise, WhatTokensHaveInCommon) {
  // Two tokens of two: the first column moves by 1 and 3, the second by 1 and -1.
  const Array before = numbers({1, 2, 2}, {3, 0, 0, 4});
  const std::optional<PropagatedNoise> noise = propagated_noise(before, numbers({1, 2, 2}, {4, 1, 3, 3}));
  ASSERT_TRUE(noise);
  EXPECT_DOUBLE_EQ(noise->all(), 12.0 / 25);
  EXPECT_DOUBLE_EQ(noise->common, 8.0 / 25);
}

TEST(PropagatedNoise, PositionsOfAnImage) {
  const Array before = numbers({1, 2, 1, 2}, {1, 0, 0, 0});
  const std::optional<PropagatedNoise> noise = propagated_noise(before, numbers({1, 2, 1, 2}, {2, 1, 1, -1}));
  ASSERT_TRUE(noise);
  EXPECT_DOUBLE_EQ(noise->common, 2);
  EXPECT_DOUBLE_EQ(noise->differing, 2);
}

TEST(PropagatedNoise, NoneOfNaN) {
  EXPECT_FALSE(propagated_noise(numbers({1}, {1}), numbers({1}, {std::numeric_limits<float>::quiet_NaN()})));
  EXPECT_EQ(propagated_noise(numbers({2}, {1, 2}), numbers({2}, {1, 2}))->all(), 0);
}

}  // namespace
}  // namespace thaw::measuring
