#include "thaw/rewrite/stands_for.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "thaw/core/small_float.h"

namespace thaw::rewrite {
namespace {

const double kRoot = 1 / std::numbers::sqrt2, kTanhScale = std::sqrt(2 / std::numbers::pi);

TEST(StandsForTest, WhatAConstantIsInFewerBitsStandsForIt) {
  for (const double constant : {kRoot, kTanhScale, 0.044715, 1.702, 1.0 / 6, -kRoot, std::numbers::sqrt2}) {
    EXPECT_TRUE(stands_for(constant, constant));
    EXPECT_TRUE(stands_for(static_cast<float>(constant), constant)) << constant;
    for (const FloatFormat& format : {kBfloat16Format, kFloat16Format}) {
      const double stored = decode_float(format, encode_float(format, constant));
      EXPECT_TRUE(stands_for(stored, constant)) << constant;
      EXPECT_TRUE(stands_for(1 / stored, 1 / constant)) << constant;  // x / √2
      EXPECT_TRUE(stands_for(static_cast<float>(stored), constant)) << constant;
    }
  }
}

TEST(StandsForTest, OtherNumbersDoNot) {
  const std::pair<double, double> others[] = {
      {0.7087, kRoot}, {0.709, kRoot},     {1.0005, 1}, {1.002, 1}, {3.003, 3}, {2.003, 2},     {31.99, 32},
      {0.501, 0.5},    {0.0447, 0.044715}, {0, 1},      {1, 0},     {1e-9, 0},  {-kRoot, kRoot}};
  for (const auto& [number, constant] : others) {
    EXPECT_FALSE(stands_for(number, constant)) << number;
    EXPECT_FALSE(stands_for(static_cast<float>(number), constant)) << number;
  }
  // A step of the type away.
  EXPECT_FALSE(stands_for(0.70703125 + std::ldexp(1, -8), kRoot));
  EXPECT_FALSE(stands_for(1 + std::ldexp(1, -10), 1));
}

}  // namespace
}  // namespace thaw::rewrite
