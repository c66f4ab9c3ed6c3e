#include "thaw/lift/unseen/unseen_sizes.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "thaw/dim/expr/scope.h"

namespace thaw::lifting {
namespace {

Variable side(dim::Scope& scope, const std::string& name, int axis, std::vector<int64_t> at) {
  return {.symbol = scope.symbol(name), .at = std::move(at), .kind = Variable::Kind::kDim, .input = "x", .index = axis};
}

// ceil(n/8) and ceil(floor(n/2)/4) differ at one remainder by 8 alone.
TEST(UnseenSizes, HaveEachRemainderOfEachSide) {
  dim::Scope scope;
  const std::vector<Variable> sides{side(scope, "h", 2, {97, 150, 211}), side(scope, "w", 3, {131, 212, 174})};
  auto sizes = unseen_sizes(sides);
  std::ranges::move(sizes_beyond(sides), std::back_inserter(sizes));
  for (size_t i = 0; i < sides.size(); ++i) {
    std::set<int64_t> remainders;
    for (const auto& each : sizes) remainders.insert(each[i] % 16);
    EXPECT_EQ(remainders.size(), 16u) << i;
  }
}

TEST(UnseenSizes, OneByOneAreAllOfEachSide) {
  dim::Scope scope;
  const std::vector<Variable> sides{side(scope, "h", 2, {224, 256, 320}), side(scope, "w", 3, {96, 128, 192})};
  std::set<int64_t> heights, widths;
  for (const auto& each : sizes_one_by_one(sides)) {
    heights.insert(each[0]);
    widths.insert(each[1]);
  }
  EXPECT_EQ(heights.size(), 320u - 224 + 1);
  EXPECT_EQ(widths.size(), 192u - 96 + 1);
}

TEST(UnseenSizes, OneByOneAreFewOfLongSides) {
  dim::Scope scope;
  const std::vector<Variable> sides{side(scope, "samples", 1, {16'000, 48'000, 1'600'000})};
  const auto sizes = sizes_one_by_one(sides);
  EXPECT_LE(sizes.size(), 2'049u);
  EXPECT_EQ(sizes.front().front(), 16'000);
}

TEST(UnseenSizes, AreMultiplesOfWhatTheTracesShare) {
  dim::Scope scope;
  const std::vector<Variable> sides{side(scope, "h", 2, {224, 256, 320}), side(scope, "w", 3, {96, 128, 192})};
  for (const auto& each : unseen_sizes(sides)) {
    EXPECT_TRUE(each[0] % 32 == 0 && each[0] >= 224 && each[0] <= 320) << each[0];
    EXPECT_TRUE(each[1] % 32 == 0 && each[1] >= 96 && each[1] <= 192) << each[1];
  }
  for (const auto& each : sizes_of_any_step(sides)) EXPECT_TRUE(each[0] >= 224 && each[0] <= 320) << each[0];
}

TEST(UnseenSizes, AreOfAnyIntegers) {
  dim::Scope scope;
  Variable value{.symbol = scope.input_value("v", 0), .at = {INT64_MIN, INT64_MAX, 0}, .kind = Variable::Kind::kValue};
  value.input = "v";
  EXPECT_EQ(unseen_sizes({&value, 1}).size(), 16u);
  EXPECT_EQ(common_divisor(std::vector<int64_t>{INT64_MIN, 0}), 1);
  EXPECT_EQ(common_divisor(std::vector<int64_t>{-6, 9}), 3);
  EXPECT_EQ(common_step(std::vector<int64_t>{INT64_MIN, INT64_MAX}), 1);
  EXPECT_EQ(common_step(std::vector<int64_t>{-5, 7, 19}), 12);
}

}  // namespace
}  // namespace thaw::lifting
