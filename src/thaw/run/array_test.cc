#include "thaw/run/array.h"

#include <limits>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

using ir::DataType;

Array cyclic(DataType type, std::vector<int64_t> dims) {
  std::vector<int64_t> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % 7);
  return Array::from_int64(type, std::move(dims), values);
}

TEST(Array, CountsElementsWithoutOverflow) {
  EXPECT_EQ(element_count({}), 1);
  const std::vector<int64_t> empty{int64_t{1} << 40, 0, int64_t{1} << 40};
  EXPECT_EQ(element_count(empty), 0);
  const std::vector<int64_t> huge{int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_THROW(element_count(huge), Error);
  const std::vector<int64_t> negative{3, -1};
  EXPECT_THROW(element_count(negative), Error);
  EXPECT_THROW(Array::from_doubles(DataType::kFloat, {2, 3}, std::vector<double>(5)), Error);
}

TEST(Array, CastKeepsWideIntegersExact) {
  const std::vector<int64_t> values{(int64_t{1} << 53) + 1, -3};
  const Array wide = Array::from_int64(DataType::kInt64, {2}, values);
  EXPECT_EQ(to_int64s(cast(wide, DataType::kUint64))[0], values[0]);
  EXPECT_EQ(to_int64s(cast(wide, DataType::kInt32)), (std::vector<int64_t>{std::numeric_limits<int32_t>::max(), -3}));
  EXPECT_EQ(to_doubles(cast(Array::from_doubles(DataType::kFloat, {2}, std::vector<double>{1.0 / 3, -2.75}),
                            DataType::kFloat16)),
            (std::vector<double>{0.333251953125, -2.75}));
}

TEST(Array, RowsComeApartAndTogether) {
  for (const DataType type : {DataType::kFloat, DataType::kInt64, DataType::kInt4, DataType::kUint2, DataType::kBool}) {
    for (const int64_t width : {1, 3, 4}) {  // 3 elements of 4 bits end inside a byte
      const Array whole = cyclic(type, {5, width});
      std::vector<Array> parts, singles;
      for (int64_t row = 0; row < 5; ++row) {
        parts.push_back(rows(whole, row, row + 1));
        singles.push_back(parts.back());
        singles.back().dims.erase(singles.back().dims.begin());
      }
      EXPECT_EQ(concat_rows(parts), whole) << ir::name_of(type) << " " << width;
      EXPECT_EQ(stack(singles), whole);
      EXPECT_EQ(rows(whole, 1, 4), concat_rows(std::span(parts).subspan(1, 3)));
    }
  }
  const Array texts = Array::from_strings({2, 2}, {"a", "b", "c", "d"});
  EXPECT_EQ(rows(texts, 1, 2), Array::from_strings({1, 2}, {"c", "d"}));
  EXPECT_EQ(concat_rows(std::vector<Array>{texts, rows(texts, 0, 1)}).dims, (std::vector<int64_t>{3, 2}));
}

TEST(Array, RowsThatDoNotFitAreRefused) {
  const Array a = cyclic(DataType::kFloat, {2, 3});
  EXPECT_THROW(rows(a, 1, 3), Error);
  EXPECT_THROW(rows(Array::zeros(DataType::kFloat, {}), 0, 0), Error);
  EXPECT_THROW(concat_rows(std::vector<Array>{a, cyclic(DataType::kFloat, {2, 4})}), Error);
  EXPECT_THROW(concat_rows(std::vector<Array>{a, cyclic(DataType::kInt32, {2, 3})}), Error);
  EXPECT_THROW(concat_rows({}), Error);
}

TEST(Array, DescribesItself) {
  EXPECT_EQ(describe(cyclic(DataType::kFloat, {2, 3})), "float32[2,3]");
  EXPECT_EQ(describe(Array::zeros(DataType::kInt64, {})), "int64[]");
}

}  // namespace
}  // namespace thaw::run
