#include "thaw/quant/half/narrowed.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "thaw/quant/half/weight_range.h"

namespace thaw::quantizing {
namespace {

using ir::DataType;
using ir::Tensor;

TEST(Narrowed, LargeTensorsAreMadeInPiecesAndEqualSmallOnes) {
  std::vector<float> values(3'000'001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 100;
  const Tensor wide = Tensor::from_float("w", {static_cast<int64_t>(values.size())}, values);
  const Tensor narrow = narrowed(wide, "w", DataType::kFloat16, {});
  EXPECT_EQ(narrow.storage(), Tensor::Storage::kMade);
  const std::vector<double> made = narrow.to_double();
  for (const size_t i : {size_t{0}, size_t{1'048'576}, size_t{1'048'577}, values.size() - 1}) {
    const Tensor one =
        narrowed(Tensor::from_float("x", {1}, std::vector<float>{values[i]}), "x", DataType::kFloat16, {});
    EXPECT_EQ(made[i], one.to_double()[0]);
    EXPECT_NEAR(made[i], values[i], 0.05);
  }
}

TEST(Narrowed, WhatIsTooLargeSaturatesAndInfinitiesStay) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor wide = Tensor::from_float("w", {5}, std::vector<float>{-3e38F, 3e38F, -infinity, 65519, 7});
  const Tensor narrow = narrowed(wide, "w", DataType::kFloat16, {-16384, 65504});
  EXPECT_EQ(narrow.to_double(), (std::vector<double>{-16384, 65504, -infinity, 65504, 7}));
}

TEST(WeightRange, CountsWhatTheTypeDoesNotHave) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const Tensor tensor =
      Tensor::from_float("w", {9}, std::vector<float>{1, -65519, 65520, -1e9F, 1e-9F, 0, nan, infinity, -infinity});
  const WeightRange half = range_of(tensor, DataType::kFloat16);
  EXPECT_EQ(half.elements, 9u);
  EXPECT_EQ(half.too_large, 2u);
  EXPECT_EQ(half.vanish, 1u);
  EXPECT_EQ(half.nan, 1u);
  EXPECT_EQ(half.infinite, 2u);
  EXPECT_EQ(half.largest, 1e9);
  const WeightRange brain = range_of(tensor, DataType::kBfloat16);
  EXPECT_EQ(brain.too_large, 0u);
  EXPECT_EQ(brain.vanish, 0u);
}

}  // namespace
}  // namespace thaw::quantizing
