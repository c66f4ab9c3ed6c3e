#include "thaw/math/rotary_frequencies.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace thaw::math {
namespace {

TEST(RotaryFrequencies, FallFromOneToAlmostTheBase) {
  const std::vector<double> all = rotary_frequencies(10000, 4);
  ASSERT_EQ(all.size(), 4U);
  for (size_t j = 0; j < 4; ++j) EXPECT_NEAR(all[j], std::pow(10, -static_cast<double>(j)), 1e-15);
  const std::vector<float> trained = rotary_frequencies_as_trained(10000, 8);
  ASSERT_EQ(trained.size(), 4U);
  for (size_t j = 0; j < 4; ++j) EXPECT_FLOAT_EQ(trained[j], static_cast<float>(all[j]));
  const double factors[] = {1, 2, 4, 8};
  const std::vector<float> divided = rotary_frequencies_as_trained(10000, 8, factors);
  for (size_t j = 0; j < 4; ++j) EXPECT_FLOAT_EQ(divided[j], trained[j] / static_cast<float>(factors[j]));
}

// Whatever the scaling: fast ones stay, slow ones are divided, and those between lie between.
template <typename Scaling>
void expect_parts(const Scaling& by, double stays_from, double divided_up_to) {
  const std::vector<float> before = rotary_frequencies_as_trained(5e5, 128);
  std::vector<float> after = before;
  scale(after, by);
  int kept = 0, divided = 0, between = 0;
  for (size_t j = 0; j < before.size(); ++j) {
    const double turns = by.length * static_cast<double>(before[j]) / (2 * std::numbers::pi);
    const float slowest = before[j] / static_cast<float>(by.factor);
    EXPECT_LE(after[j], before[j] * 1.000001F);
    EXPECT_GE(after[j], slowest * 0.999999F);
    if (turns >= stays_from) {
      EXPECT_EQ(after[j], before[j]) << j;
      ++kept;
    } else if (turns <= divided_up_to) {
      EXPECT_FLOAT_EQ(after[j], slowest) << j;
      ++divided;
    } else {
      ++between;
      EXPECT_LT(after[j], after[j - 1]);
    }
  }
  EXPECT_GT(kept, 3);
  EXPECT_GT(divided, 3);
  EXPECT_GT(between, 3);
}

TEST(RotaryFrequencies, Llama3KeepsDividesAndBlends) {
  expect_parts(Llama3Scaling{.factor = 8, .low_factor = 1, .high_factor = 4, .length = 8192}, 4.001, 0.999);
}

TEST(RotaryFrequencies, YarnKeepsDividesAndRamps) {
  for (const bool is_cut : {false, true}) {
    // A whole pair is a factor of 1.23 in turns here.
    const double wide = is_cut ? 1.3 : 1.001;
    expect_parts(YarnScaling{.factor = 16, .base = 5e5, .length = 4096, .fast = 32, .slow = 1, .is_cut = is_cut},
                 32 * wide, 1 / wide);
  }
}

TEST(RotaryFrequencies, ARampBetweenOnePairAndItselfIsAStep) {
  std::vector<float> few{1, 0.5F};
  scale(few, YarnScaling{.factor = 2, .base = 4, .length = 1, .fast = 32, .slow = 1, .is_cut = true});
  for (const float frequency : few) EXPECT_TRUE(std::isfinite(frequency));
}

TEST(RotaryFrequencies, CosinesGrowOnlyWhereTheContextDoes) {
  EXPECT_EQ(yarn_magnitude(1, 1), 1);
  EXPECT_EQ(yarn_magnitude(0.5, 1), 1);
  EXPECT_NEAR(yarn_magnitude(std::exp(2.0), 0.5), 1.1, 1e-12);
  EXPECT_EQ(longrope_magnitude(1, 4096), 1);
  EXPECT_NEAR(longrope_magnitude(4096, 4096), std::numbers::sqrt2, 1e-12);
}

}  // namespace
}  // namespace thaw::math
