#include "thaw/sensitivity/representative_samples.h"

#include <cmath>

#include <gtest/gtest.h>

#include "thaw/sensitivity/confirm_worst.h"

namespace thaw::measuring {
namespace {

std::vector<ErrorFigures> figures(const std::vector<double>& errors) {
  std::vector<ErrorFigures> made;
  for (const double error : errors) made.push_back({.mse = error, .noise = 2 * error});
  return made;
}

TEST(RepresentativeSamples, TheFewestThatHaveMost) {
  const auto all = figures({1, 50, 2, 30, 1, 1, 20, 40, 1, 2, 1, 1, 30, 1, 1, 1});
  EXPECT_EQ(representative_samples(all, ErrorMetric::kMse), (std::vector<size_t>{1, 3, 7, 12}));
  EXPECT_EQ(representative_samples(all, ErrorMetric::kSqnr), (std::vector<size_t>{1, 3, 7, 12}));
  // Four at least, a third of them at most.
  EXPECT_EQ(representative_samples(figures({0, 0, 9, 0, 0, 0}), ErrorMetric::kMse), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(representative_samples(figures(std::vector<double>(18, 1)), ErrorMetric::kMse).size(), 6U);
  EXPECT_EQ(representative_samples(figures({1, 2}), ErrorMetric::kMse), (std::vector<size_t>{0, 1}));
}

// By hand: the two have 3/4 of what all cost, so a unit that costs 6 on them costs 8 on all four.
TEST(RepresentativeSamples, WhatTheyHaveIsScaledToAll) {
  const ErrorFigures mean = mean_by_ratio(figures({4, 2}), {0, 2}, figures({5, 1, 4, 2}));
  EXPECT_DOUBLE_EQ(mean.mse, 2);
  EXPECT_DOUBLE_EQ(mean.noise, 4);
  EXPECT_DOUBLE_EQ(mean.kl, 0);
  EXPECT_DOUBLE_EQ(mean_by_ratio(figures({4, 2}), {0, 1}, figures({0, 0, 3})).mse, 3);
}

TEST(DoRank, NoiseBesideWhatIsToBeTold) {
  std::vector<UnitError> units(4);
  std::vector<UnitError*> errors;
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].status = UnitStatus::kPredicted;
    units[i].in = figures({std::pow(10.0, static_cast<double>(i))});
    errors.push_back(&units[i]);
  }
  EXPECT_TRUE(do_rank({}, errors, ErrorMetric::kMse, 0.97));
  EXPECT_TRUE(do_rank({0.1, -0.2, 0.3}, errors, ErrorMetric::kMse, 0.97));
  EXPECT_FALSE(do_rank({2, -2, 1}, errors, ErrorMetric::kMse, 0.97));
}

}  // namespace
}  // namespace thaw::measuring
