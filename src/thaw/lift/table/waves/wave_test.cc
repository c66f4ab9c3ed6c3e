#include "thaw/lift/table/waves/wave.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

constexpr unsigned kEach[] = {kStep, kStep | kHeights, kStep | kRaised, kStep | kDown,
                              kStep | kDown | kHeights | kRaised};

// Whatever is to be found is found from near it on, and how well: an error of the entries grows no more than that.
TEST(Wave, IsFoundFromNearIt) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(0.2, 0.9), error(-1e-7, 1e-7);
  for (int round = 0; round < 100; ++round) {
    for (const unsigned free : kEach) {
      Wave wave = wave_of(round % 2 == 0, number(random), (free & kDown) != 0 ? number(random) : 0);
      if ((free & kHeights) != 0) wave.a = number(random);
      if ((free & kHeights) != 0) wave.b = number(random);
      if ((free & kRaised) != 0) wave.raised = number(random);
      std::vector<Sample> samples;
      for (double x = 0; x < 7; ++x)
        for (double y = 0; y < 5; ++y) samples.push_back({x, wave.at(x, y) + error(random), y});
      Wave found = wave;
      found.step *= 1.01;
      if ((free & kDown) != 0) found.down *= 0.99;
      if ((free & kHeights) != 0) found.a += 0.1;
      if ((free & kRaised) != 0) found.raised -= 0.1;
      const auto grown = refine(found, samples, free, 12);
      ASSERT_TRUE(grown);
      const double within = 1e-7 * *grown * std::sqrt(static_cast<double>(samples.size())) + 1e-12;
      EXPECT_NEAR(found.step, wave.step, within) << free;
      EXPECT_NEAR(found.down, wave.down, within) << free;
      EXPECT_NEAR(found.a, wave.a, within) << free;
      EXPECT_NEAR(found.b, wave.b, within) << free;
      EXPECT_NEAR(found.raised, wave.raised, within) << free;
    }
  }
}

TEST(Wave, IsLeftWhereTheSamplesDoNotTell) {
  const std::vector<Sample> at_none{{0, 1, 0}, {0, 1, 0}, {0, 1, 0}},
      on_a_line{{1, 0.5, 1}, {2, -0.4, 2}, {3, -0.9, 3}};
  Wave wave = wave_of(false, 0.5);
  EXPECT_FALSE(refine(wave, at_none, kStep, 3));
  EXPECT_FALSE(refine(wave, on_a_line, kStep | kDown, 1));
  EXPECT_EQ(wave.step, 0.5);
}

// A wave and a number, of all steps that are looked for.
TEST(Wave, IsFoundWithANumber) {
  for (const bool sine : {false, true}) {
    for (double step = 0.3; step < 6.5; step += 0.37) {
      Wave wave = wave_of(sine, step);
      wave.raised = 0.25;
      std::vector<Sample> samples;
      for (int i = 1; i <= 20; ++i) samples.push_back({i / 10.0, wave.at(i / 10.0)});
      const auto found = raised_wave_of(samples, sine);
      ASSERT_TRUE(found) << sine;
      EXPECT_NEAR(found->step, step, 1e-6) << sine;
      EXPECT_NEAR(found->raised, 0.25, 1e-6) << sine;
      EXPECT_LT(mean_square_of(*found, samples), 1e-14);
    }
  }
}

View column_of(std::vector<double> entries) {
  View view;
  view.tolerance = 1e-6;
  view.growing = {{dim::Dim(), {static_cast<int64_t>(entries.size())}}};
  view.entries = {std::move(entries)};
  return view;
}

// No wave is passed over, whatever is added and however its places lie, as float32 has them; hardly anything else passes.
TEST(Wave, IsToldFromNeighbours) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> step(1e-3, 7), number(-3, 3);
  int other = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    Wave wave = wave_of(round % 2 == 0, step(random));
    wave.raised = number(random);
    const double from = number(random), apart = 1.0 / (3 + round % 29);
    std::vector<double> entries, numbers;
    for (int i = 0; i < 3 + round % 40; ++i) {
      entries.push_back(static_cast<float>(wave.at(from + i * apart)));
      numbers.push_back(number(random));
    }
    EXPECT_TRUE(may_be_raised_wave(column_of(entries))) << round;
    other += entries.size() > 5 && may_be_raised_wave(column_of(numbers)) ? 1 : 0;
  }
  EXPECT_LE(other, kRounds / 50);
}

}  // namespace
}  // namespace thaw::lifting
