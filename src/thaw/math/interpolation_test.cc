#include "thaw/math/interpolation.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw::math {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::Field;

auto tap(int64_t at, double weight) {
  return testing::AllOf(Field(&Tap::at, at), Field(&Tap::weight, DoubleEq(weight)));
}

double sum_of(const std::vector<Tap>& taps) {
  return std::accumulate(taps.begin(), taps.end(), 0.0, [](double sum, const Tap& tap) { return sum + tap.weight; });
}

// Of samples on a line, the taps' weighted sum.
double mean_position(const std::vector<Tap>& taps) {
  return std::accumulate(taps.begin(), taps.end(), 0.0,
                         [](double sum, const Tap& tap) { return sum + tap.weight * static_cast<double>(tap.at); });
}

TEST(Kernels, AreOneAtTheSampleAndNothingAtTheOthers) {
  for (const Kernel& kernel : {kLinear, kCubic, kSharpCubic, kLanczos}) {
    EXPECT_EQ(kernel.weight(0), 1);
    for (double far = 1; far <= 3; ++far) {
      EXPECT_NEAR(kernel.weight(far), 0, 1e-15);
      EXPECT_NEAR(kernel.weight(-far), 0, 1e-15);
    }
  }
  EXPECT_EQ(kBox.weight(0.5), 1);
  EXPECT_EQ(kBox.weight(-0.5), 0);  // each position has one sample
  EXPECT_EQ(kLinear.weight(-0.25), 0.75);
  EXPECT_EQ(kCubic.weight(0.5), 0.5625);
  EXPECT_EQ(kCubic.weight(-1.5), -0.0625);
  EXPECT_EQ(kSharpCubic.weight(1.5), -0.09375);
}

TEST(TapsBetween, PastTheBorderIsTheSampleAtIt) {
  EXPECT_THAT(taps_between(3, 0.25, 10, kLinear), ElementsAre(tap(3, 0.75), tap(4, 0.25)));
  EXPECT_THAT(taps_between(-1, 0.75, 2, kLinear), ElementsAre(tap(0, 0.25), tap(0, 0.75)));
  EXPECT_THAT(taps_between(1, 0.5, 3, kCubic),
              ElementsAre(tap(0, -0.0625), tap(1, 0.5625), tap(2, 0.5625), tap(2, -0.0625)));
}

TEST(TapsBetween, GiveALineAsItIs) {
  for (const Kernel& kernel : {kLinear, kCubic, kSharpCubic}) {
    for (const double part : {0.0, 0.125, 0.3, 0.99}) {
      const std::vector<Tap> taps = taps_between(5, part, 12, kernel);
      EXPECT_NEAR(sum_of(taps), 1, 1e-15);
      // A cubic with a = -0.5 alone is exact on what is not constant.
      if (kernel.weight == kSharpCubic.weight) continue;
      EXPECT_NEAR(mean_position(taps), 5 + part, 1e-14);
    }
  }
}

TEST(TapsAround, AverageWhatBecomesLess) {
  // Of 6 samples 3: each the mean of those that it covers, and of their neighbours.
  EXPECT_THAT(taps_around(3, 2, 6, kBox), ElementsAre(tap(2, 0.5), tap(3, 0.5)));
  EXPECT_THAT(taps_around(3, 2, 6, kLinear), ElementsAre(tap(1, 0.125), tap(2, 0.375), tap(3, 0.375), tap(4, 0.125)));
  // Past the border there is nothing, and the others weigh more.
  EXPECT_THAT(taps_around(1, 2, 6, kLinear), ElementsAre(tap(0, 3.0 / 7), tap(1, 3.0 / 7), tap(2, 1.0 / 7)));
}

TEST(TapsAround, WeightsAddUpToOne) {
  for (const Kernel& kernel : {kBox, kLinear, kCubic, kLanczos}) {
    for (const auto& [size, fewer] : {std::pair<int64_t, int64_t>{7, 7}, {10, 3}, {640, 336}, {5, 1}, {3, 8}}) {
      const double scale = static_cast<double>(size) / static_cast<double>(fewer);
      for (int64_t i = 0; i < fewer; ++i) {
        const std::vector<Tap> taps =
            taps_around((static_cast<double>(i) + 0.5) * scale, std::max(scale, 1.0), size, kernel);
        ASSERT_FALSE(taps.empty());
        EXPECT_NEAR(sum_of(taps), 1, 1e-14);
        EXPECT_GE(taps.front().at, 0);
        EXPECT_LT(taps.back().at, size);
      }
    }
  }
}

TEST(TapsAround, WithoutReductionAreTheTapsBetweenInside) {
  for (const double part : {0.0, 0.25, 0.6}) {
    std::vector<Tap> around = taps_around(5 + part + 0.5, 1, 12, kCubic);
    std::erase_if(around, [](const Tap& one) { return one.weight == 0; });
    std::vector<Tap> between = taps_between(5, part, 12, kCubic);
    std::erase_if(between, [](const Tap& one) { return one.weight == 0; });
    ASSERT_EQ(around.size(), between.size()) << part;
    for (size_t i = 0; i < around.size(); ++i) {
      EXPECT_EQ(around[i].at, between[i].at);
      EXPECT_NEAR(around[i].weight, between[i].weight, 1e-14);
    }
  }
}

}  // namespace
}  // namespace thaw::math
