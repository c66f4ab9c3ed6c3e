#include "thaw/quant/int8/histogram.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/quant/int8/affine.h"

namespace thaw::quantizing::int8 {
namespace {

const Codes kUnsigned{ir::DataType::kUint8, 0, 255};
const Codes kSigned{ir::DataType::kInt8, -127, 127};

std::vector<float> normal(size_t count, float scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, scale);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = draw(random);
  return numbers;
}

double squared_error(const std::vector<float>& numbers, const Range& range, const Codes& codes, bool symmetric) {
  const Affine affine = affine_of(range, codes, symmetric);
  double sum = 0;
  for (const float number : numbers)
    sum += std::pow(static_cast<double>(number - number_of(code_of(number, affine, codes), affine)), 2);
  return sum;
}

TEST(Int8Histogram, ZeroHasACodeOfItsOwn) {
  for (const Range range : {Range{0, 0}, Range{3, 3}, Range{-2.5, -2.5}, Range{-1, 7}, Range{2, 5},
                            Range{-1e-42, 1e-42}, Range{-3e38, 3e38}, Range{-1, 1}}) {
    for (const bool symmetric : {false, true}) {
      const Codes& codes = symmetric ? kSigned : kUnsigned;
      const Affine affine = affine_of(range, codes, symmetric);
      EXPECT_TRUE(std::isfinite(affine.scale));
      EXPECT_TRUE(affine.scale > 0);
      EXPECT_EQ(number_of(code_of(0, affine, codes), affine), 0);
      for (const double end : {range.lowest, range.highest}) {
        const float back = number_of(code_of(static_cast<float>(end), affine, codes), affine);
        EXPECT_TRUE(std::fabs(back - end) <= affine.scale * 0.51);
      }
    }
  }
}

TEST(Int8Histogram, CodesOfSevenBitsAndSymmetricCodes) {
  Int8Options options;
  EXPECT_EQ(weight_codes(options).lowest, -127);
  options.reduced_range = true;
  EXPECT_EQ(weight_codes(options).lowest, -63);
  EXPECT_EQ(weight_codes(options).highest, 63);
  options.symmetric_weights = false;
  EXPECT_EQ(weight_codes(options).lowest, -64);
  options.unsigned_weights = true;
  EXPECT_EQ(weight_codes(options).lowest, 64);
  EXPECT_EQ(weight_codes(options).highest, 191);
  options.symmetric_activations = true;
  EXPECT_EQ(affine_of({-1, 2}, activation_codes(options), true).zero, 128);
}

TEST(Int8Histogram, GrowsWithWhatItSees) {
  Histogram streamed({-1, 1});
  const std::vector<float> small = normal(10000, 0.2F, 1), large = normal(10000, 5, 2);
  streamed.add(small);
  streamed.add(large);
  streamed.add({});
  EXPECT_EQ(streamed.total(), 20000);
  uint64_t counted = 0;
  double mean = 0;
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    counted += streamed.counts()[static_cast<size_t>(bin)];
    mean += static_cast<double>(streamed.counts()[static_cast<size_t>(bin)]) * std::fabs(streamed.middle_of(bin));
  }
  EXPECT_EQ(counted, 20000);
  double wanted = 0;
  for (const auto* numbers : {&small, &large})
    for (const float number : *numbers) wanted += std::fabs(number);
  EXPECT_TRUE(std::fabs(mean - wanted) < wanted * 0.01);
  for (const auto* numbers : {&small, &large})
    for (const float number : *numbers) {
      EXPECT_TRUE(number >= streamed.range().lowest);
      EXPECT_TRUE(number <= streamed.range().highest);
    }
  Histogram open;
  open.add(std::vector<float>{5});
  open.add(std::vector<float>{-300, 1e30F});
  EXPECT_EQ(open.total(), 3);
  EXPECT_TRUE(open.range().highest >= 1e30);
}

TEST(Int8Histogram, APercentileLeavesOutWhatIsRare) {
  Histogram seen({0, 100});
  std::vector<float> numbers;
  for (int i = 0; i <= 1000; ++i) numbers.push_back(static_cast<float>(i) / 10);
  seen.add(numbers);
  const Range all = percentile_range(seen, 100, false), most = percentile_range(seen, 95, false);
  EXPECT_TRUE(std::fabs(all.lowest) < 0.1);
  EXPECT_TRUE(std::fabs(all.highest - 100) < 0.1);
  EXPECT_TRUE(std::fabs(most.lowest - 5) < 0.2);
  EXPECT_TRUE(std::fabs(most.highest - 95) < 0.2);
  EXPECT_TRUE(std::fabs(percentile_range(seen, 90, true).highest - 90) < 0.2);
}

TEST(Int8Histogram, TheSearchFindsTheLeastSquaredError) {
  for (const bool symmetric : {false, true}) {
    const Codes& codes = symmetric ? kSigned : kUnsigned;
    std::vector<float> numbers = normal(1000000, 1, 3);
    numbers[7] = 20;
    numbers[9] = -9;
    Histogram seen({-9, 20});
    seen.add(numbers);
    const Range best = least_error_range(seen, codes, symmetric), entropy = entropy_range(seen, codes, symmetric);
    const double least = squared_error(numbers, best, codes, symmetric);
    EXPECT_TRUE(least < squared_error(numbers, seen.range(), codes, symmetric) / 2);
    for (const double share : {0.2, 0.3, 0.4, 0.5, 0.7, 0.9})
      EXPECT_TRUE(least <= squared_error(numbers, {-9 * share, 20 * share}, codes, symmetric) * 1.02);
    EXPECT_TRUE(squared_error(numbers, entropy, codes, symmetric) <=
                squared_error(numbers, seen.range(), codes, symmetric) * 1.001);
    EXPECT_TRUE(entropy.highest < 20);
  }
}

TEST(Int8Histogram, ZerosOfAReluDoNotDrawTheThresholdDown) {
  std::vector<float> numbers = normal(400000, 1, 4);
  for (float& number : numbers) number = std::max(number, 0.0F);
  Histogram seen({0, 5});
  seen.add(numbers);
  EXPECT_TRUE(entropy_range(seen, kUnsigned, false).highest > 3.5);
  EXPECT_EQ(entropy_range(seen, kUnsigned, false).lowest, 0);
}

}  // namespace
}  // namespace thaw::quantizing::int8
