#include "thaw/run/compare.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

using ir::DataType;

Array floats(std::vector<double> values, DataType type = DataType::kFloat) {
  const auto count = static_cast<int64_t>(values.size());
  return Array::from_doubles(type, {count}, values);
}

TEST(Compare, FiguresAreThoseOfTheDefinition) {
  const Comparison result = compare(floats({1, 2, 4, 0}), floats({1, 2.5, 3, 0.5}), {});
  EXPECT_FALSE(result.agrees);
  EXPECT_TRUE(result.comparable);
  EXPECT_EQ(result.elements, 4);
  EXPECT_EQ(result.outside_tolerance, 3);
  EXPECT_EQ(result.max_abs_diff, 1);
  EXPECT_DOUBLE_EQ(result.max_rel_diff, 1);  // 0 against 0.5
  EXPECT_DOUBLE_EQ(result.cosine, (1 + 5 + 12) / (std::sqrt(21.0) * std::sqrt(1 + 6.25 + 9 + 0.25)));
  EXPECT_EQ(result.worst_index, (std::vector<int64_t>{2}));
  EXPECT_EQ(result.worst_actual, 4);
  EXPECT_EQ(result.worst_expected, 3);
}

TEST(Compare, TolerancesAreAbsolutePlusRelative) {
  EXPECT_TRUE(compare(floats({100.05}), floats({100}), {}).agrees);
  EXPECT_FALSE(compare(floats({100.2}), floats({100}), {}).agrees);
  EXPECT_TRUE(compare(floats({100.2}), floats({100}), {.absolute = 0.3, .relative = 0}).agrees);
  EXPECT_FALSE(compare(floats({1e-3}), floats({0}), {}).agrees);
  EXPECT_TRUE(compare(floats({100.5}, DataType::kFloat16), floats({100}, DataType::kFloat16), {}).agrees);
}

TEST(Compare, ACosineAloneDecides) {
  const Array a = floats({1, 2, 3}), b = floats({1.1, 2.1, 2.9});
  EXPECT_FALSE(compare(a, b, {}).agrees);
  EXPECT_TRUE(compare(a, b, {.cosine = 0.99}).agrees);
  EXPECT_FALSE(compare(a, b, {.cosine = 0.99999}).agrees);
  EXPECT_FALSE(compare(a, b, {.absolute = 0.01, .cosine = 0.99}).agrees);
  EXPECT_EQ(compare(floats({0, 0}), floats({0, 0}), {}).cosine, 1);
  EXPECT_EQ(compare(floats({0, 0}), floats({0, 1}), {}).cosine, 0);
}

TEST(Compare, NanAndInfinityMustAgree) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(compare(floats({nan, inf, -inf, 2}), floats({nan, inf, -inf, 2}), {}).agrees);
  const Comparison result =
      compare(floats({nan, inf, 1, 1}), floats({1, -inf, inf, 1}), {.absolute = 1e9, .cosine = -1});
  EXPECT_FALSE(result.agrees);
  EXPECT_EQ(result.not_finite, 3);
  EXPECT_EQ(result.outside_tolerance, 3);
  EXPECT_EQ(result.max_abs_diff, 0);
  EXPECT_FALSE(compare(floats({nan}), floats({0}), {.cosine = -1}).agrees);
}

TEST(Compare, IntegersAreExactWhateverIsTolerated) {
  const auto ints = [](std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    return Array::from_int64(DataType::kInt64, {count}, values);
  };
  EXPECT_TRUE(compare(ints({1, 2}), ints({1, 2}), {}).agrees);
  EXPECT_FALSE(compare(ints({1, 2}), ints({1, 3}), {.absolute = 5, .relative = 5, .cosine = 0}).agrees);
  // They differ by less than a double can say.
  const int64_t large = (int64_t{1} << 62) + 1;
  EXPECT_FALSE(compare(ints({large}), ints({large - 1}), {}).agrees);
  EXPECT_TRUE(compare(ints({large}), ints({large}), {}).agrees);
}

TEST(Compare, ShapesAndTypesMustBeTheSame) {
  const Array a = Array::zeros(DataType::kFloat, {2, 3}), b = Array::zeros(DataType::kFloat, {3, 2});
  const Comparison shapes = compare(a, b, {});
  EXPECT_FALSE(shapes.agrees);
  EXPECT_FALSE(shapes.comparable);
  EXPECT_EQ(shapes.reason, "is float32[2,3], expected float32[3,2]");
  const Array half = Array::zeros(DataType::kFloat16, {2, 3});
  EXPECT_FALSE(compare(half, a, {}).agrees);
  EXPECT_TRUE(compare(half, a, {}, /*cast=*/true).agrees);
  EXPECT_FALSE(compare(Array::from_strings({1}, {"a"}), Array::zeros(DataType::kFloat, {1}), {}, true).agrees);
}

TEST(Compare, StringsAndEmptyArrays) {
  EXPECT_TRUE(compare(Array::from_strings({2}, {"a", "b"}), Array::from_strings({2}, {"a", "b"}), {}).agrees);
  const Comparison texts =
      compare(Array::from_strings({1, 2}, {"a", "b"}), Array::from_strings({1, 2}, {"a", "c"}), {});
  EXPECT_FALSE(texts.agrees);
  EXPECT_EQ(texts.worst_index, (std::vector<int64_t>{0, 1}));
  const Comparison nothing =
      compare(Array::zeros(DataType::kFloat, {0, 3}), Array::zeros(DataType::kFloat, {0, 3}), {});
  EXPECT_TRUE(nothing.agrees);
  EXPECT_EQ(nothing.cosine, 1);
}

TEST(Compare, RefusesWhatNoComparisonCanHave) {
  const Array a = Array::zeros(DataType::kFloat, {3});
  Array cut = a, texts = Array::from_strings({2}, {"a", "b"});
  cut.bytes.pop_back();
  texts.strings.pop_back();
  EXPECT_THROW(compare(cut, a), Error);
  EXPECT_THROW(compare(a, cut), Error);
  EXPECT_THROW(compare(texts, texts), Error);
  EXPECT_THROW(compare(a, a, {.absolute = -1}), Error);
  EXPECT_THROW(compare(a, a, {.cosine = 1.5}), Error);
  EXPECT_TRUE(compare(a, a).agrees);
}

TEST(Compare, TheWorstElementIsNamedByItsIndex) {
  std::vector<double> values(size_t{2} * 3 * 5001, 1);
  const Array expected = Array::from_doubles(DataType::kFloat, {2, 3, 5001}, values);
  values[size_t{1} * 3 * 5001 + size_t{2} * 5001 + 4999] = 7;
  const Comparison result = compare(Array::from_doubles(DataType::kFloat, {2, 3, 5001}, values), expected, {});
  EXPECT_EQ(result.worst_index, (std::vector<int64_t>{1, 2, 4999}));
  EXPECT_EQ(result.outside_tolerance, 1);
}

}  // namespace
}  // namespace thaw::run
