#include "thaw/sensitivity/figures.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace thaw::measuring {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Array array_of(std::vector<int64_t> dims, const std::vector<float>& numbers) {
  Array array = Array::zeros(ir::DataType::kFloat, std::move(dims));
  std::memcpy(array.bytes.data(), numbers.data(), numbers.size() * sizeof(float));
  return array;
}

TEST(Figures, OfTwoRows) {
  const std::optional<ErrorFigures> figures =
      figures_of(array_of({2, 2}, {1, 0, 3, 4}), array_of({2, 2}, {1, 1, 3, 2}));
  ASSERT_TRUE(figures);
  EXPECT_DOUBLE_EQ(figures->mse, 5.0 / 4);
  EXPECT_DOUBLE_EQ(figures->noise, 5.0 / 26);
  EXPECT_NEAR(figures->cosine, 1 - 18 / std::sqrt(26.0 * 15), 1e-15);
  const auto divergence = [](double x, double y) {  // of two logits that differ by x, and by y
    const double p = 1 / (1 + std::exp(-x)), q = 1 / (1 + std::exp(-y));
    return p * std::log(p / q) + (1 - p) * std::log((1 - p) / (1 - q));
  };
  EXPECT_NEAR(figures->kl, (divergence(1, 0) + divergence(-1, 1)) / 2, 1e-15);
}

TEST(Figures, EqualOnesAreZero) {
  const Array array = array_of({3}, {1, -2, 5});
  const std::optional<ErrorFigures> figures = figures_of(array, array);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->mse, 0);
  EXPECT_EQ(figures->cosine, 0);
  EXPECT_EQ(figures->kl, 0);
  EXPECT_EQ(figure_of(*figures, ErrorMetric::kSqnr), std::numeric_limits<double>::infinity());
}

TEST(Figures, MaskedPositionsCountForNothing) {
  const std::optional<ErrorFigures> figures =
      figures_of(array_of({1, 3}, {1, -kInfinity, 2}), array_of({1, 3}, {1, -kInfinity, 2}));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->mse, 0);
  EXPECT_EQ(figures->kl, 0);
}

TEST(Figures, NoneWhereTheyCannotBeHeldAgainstEachOther) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(figures_of(array_of({2}, {1, 2}), array_of({2}, {1, nan})));
  EXPECT_FALSE(figures_of(array_of({2}, {1, 2}), array_of({1, 2}, {1, 2})));
  EXPECT_FALSE(figures_of(Arrays{{"y", array_of({1}, {1})}}, Arrays{}));
}

TEST(Figures, TheSmallestAngleIsNotLost) {
  const std::optional<ErrorFigures> figures = figures_of(array_of({2}, {1, 0}), array_of({2}, {1, 1e-6F}));
  ASSERT_TRUE(figures);
  EXPECT_NEAR(figures->cosine, 0.5e-12, 1e-15);
}

TEST(Estimate, IsTheSameForASeedAndHoldsTheMean) {
  std::vector<ErrorFigures> samples;
  for (const double mse : {1.0, 4.0, 2.0, 9.0, 3.0}) samples.push_back({.mse = mse, .noise = mse / 100});
  const Estimate found = estimate(samples, ErrorMetric::kMse, 5), again = estimate(samples, ErrorMetric::kMse, 5);
  EXPECT_DOUBLE_EQ(found.mean, 3.8);
  EXPECT_EQ(found.low, again.low);
  EXPECT_EQ(found.high, again.high);
  EXPECT_LT(found.low, 3);
  EXPECT_GT(found.high, 5);
  EXPECT_GE(found.low, 1);
  EXPECT_LE(found.high, 9);
  // Of decibels: the figure of the mean noise, and the lower end is the louder noise's.
  const Estimate decibels = estimate(samples, ErrorMetric::kSqnr, 5);
  EXPECT_NEAR(decibels.mean, -10 * std::log10(0.038), 1e-12);
  EXPECT_NEAR(decibels.low, -10 * std::log10(found.high / 100), 1e-9);
  EXPECT_LT(decibels.low, decibels.high);
  const Estimate one = estimate({samples[1]}, ErrorMetric::kMse, 5);
  EXPECT_EQ(one.low, 4);
  EXPECT_EQ(one.high, 4);
}

}  // namespace
}  // namespace thaw::measuring
