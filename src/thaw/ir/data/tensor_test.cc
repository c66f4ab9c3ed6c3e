#include "thaw/ir/data/tensor.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"

namespace thaw::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Tensor tensor_of(DataType type, std::vector<int64_t> dims, std::initializer_list<int> values) {
  return Tensor::from_bytes("t", type, std::move(dims), bytes_of(values));
}

TEST(Tensor, SmallIntegersArePackedFromTheLowestBit) {
  EXPECT_THAT(tensor_of(DataType::kInt4, {5}, {0x78, 0x1f, 0x03}).to_int64(), ElementsAre(-8, 7, -1, 1, 3));
  EXPECT_THAT(tensor_of(DataType::kUint4, {3}, {0x78, 0x0f}).to_int64(), ElementsAre(8, 7, 15));
  EXPECT_THAT(tensor_of(DataType::kInt2, {5}, {0b11'10'01'00, 0b01}).to_int64(), ElementsAre(0, 1, -2, -1, 1));
  EXPECT_THAT(tensor_of(DataType::kUint2, {4}, {0b11'10'01'00}).to_int64(), ElementsAre(0, 1, 2, 3));
}

TEST(Tensor, IntegersOfEveryWidth) {
  EXPECT_THAT(tensor_of(DataType::kInt8, {2}, {0xff, 0x7f}).to_int64(), ElementsAre(-1, 127));
  EXPECT_THAT(tensor_of(DataType::kUint16, {1}, {0xff, 0xff}).to_int64(), ElementsAre(65535));
  EXPECT_THAT(tensor_of(DataType::kInt32, {1}, {0xfe, 0xff, 0xff, 0xff}).to_int64(), ElementsAre(-2));
  EXPECT_THAT(tensor_of(DataType::kBool, {3}, {0, 1, 7}).to_int64(), ElementsAre(0, 1, 1));
  const Tensor large = tensor_of(DataType::kUint64, {1}, {255, 255, 255, 255, 255, 255, 255, 255});
  EXPECT_THAT(error_of([&] { static_cast<void>(large.to_int64()); }), HasSubstr("above the range"));
  EXPECT_EQ(large.to_double()[0], std::pow(2.0, 64));
}

TEST(Tensor, SmallFloats) {
  const auto one = [](DataType type, int bits) { return tensor_of(type, {1}, {bits}).to_double()[0]; };
  const auto two = [](DataType type, int bits) { return tensor_of(type, {1}, {bits & 255, bits >> 8}).to_double()[0]; };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(two(DataType::kFloat16, 0x3e00), 1.5);
  EXPECT_EQ(two(DataType::kFloat16, 0x0001), std::ldexp(1, -24));
  EXPECT_EQ(two(DataType::kFloat16, 0xfc00), -kInf);
  EXPECT_TRUE(std::isnan(two(DataType::kFloat16, 0x7e00)));
  EXPECT_EQ(two(DataType::kBfloat16, 0xc040), -3.0);
  EXPECT_EQ(one(DataType::kFloat8E4M3FN, 0x7e), 448.0);
  EXPECT_TRUE(std::isnan(one(DataType::kFloat8E4M3FN, 0xff)));
  EXPECT_EQ(one(DataType::kFloat8E4M3FNUZ, 0x7f), 240.0);
  EXPECT_TRUE(std::isnan(one(DataType::kFloat8E4M3FNUZ, 0x80)));
  EXPECT_EQ(one(DataType::kFloat8E5M2, 0x7b), 57344.0);
  EXPECT_EQ(one(DataType::kFloat8E5M2, 0x7c), kInf);
  EXPECT_EQ(one(DataType::kFloat8E5M2FNUZ, 0x7f), 57344.0);
  EXPECT_EQ(one(DataType::kFloat8E8M0, 130), 8.0);
  EXPECT_TRUE(std::isnan(one(DataType::kFloat8E8M0, 255)));
  EXPECT_THAT(tensor_of(DataType::kFloat4E2M1, {3}, {0xf1, 0x02}).to_double(), ElementsAre(0.5, -6.0, 1.0));
  // Four elements of six bits in three bytes: 1, 2, 3, 33.
  EXPECT_THAT(tensor_of(DataType::kFloat6E2M3, {4}, {0x81, 0x30, 0x84}).to_double(),
              ElementsAre(0.125, 0.25, 0.375, -0.125));
  EXPECT_THAT(tensor_of(DataType::kFloat6E3M2, {1}, {0x1f}).to_double(), ElementsAre(28.0));
}

TEST(Tensor, CountsBytesWithoutOverflow) {
  Tensor t;
  t.name = "t";
  t.data_type = DataType::kInt4;
  t.dims = {3, 7};
  EXPECT_EQ(t.num_bytes(), 11u);
  t.data_type = DataType::kFloat6E2M3;
  EXPECT_EQ(t.num_bytes(), 16u);
  t.dims = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_THAT(error_of([&] { static_cast<void>(t.num_bytes()); }), HasSubstr("overflow"));
  t.dims = {int64_t{1} << 62, 0, int64_t{1} << 62};
  EXPECT_EQ(t.num_elements(), 0);
  t.data_type = DataType::kDouble;
  t.dims = {int64_t{1} << 61};
  EXPECT_THAT(error_of([&] { static_cast<void>(t.num_bytes()); }), HasSubstr("overflow"));
  t.dims = {0, -1};
  EXPECT_THAT(error_of([&] { static_cast<void>(t.num_elements()); }), HasSubstr("negative dim -1"));
}

TEST(Tensor, SaysWhatItLacks) {
  Tensor t;
  t.name = "w";
  t.data_type = DataType::kFloat;
  t.dims = {2};
  EXPECT_THAT(error_of([&] { static_cast<void>(t.bytes()); }), HasSubstr("tensor 'w': has no data; expected 8 bytes"));
  EXPECT_THAT(error_of([&] { static_cast<void>(t.to_int64()); }), HasSubstr("holds float32; expected integers"));
  EXPECT_THAT(error_of([&] { static_cast<void>(t.to_strings()); }), HasSubstr("expected strings"));
  EXPECT_THAT(error_of([] { tensor_of(DataType::kFloat, {3}, {1, 2}); }), HasSubstr("has 2 bytes"));
  const Tensor s = Tensor::from_strings("s", {2}, std::vector<std::string>{"a", ""});
  EXPECT_THAT(s.to_strings(), ElementsAre("a", ""));
  EXPECT_THAT(error_of([&] { static_cast<void>(s.bytes()); }), HasSubstr("strings"));
}

TEST(DataType, NamesGoBothWays) {
  for (int i = 1; i <= 28; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(data_type_from_name(name_of(type)), type) << i;
    EXPECT_EQ(bits_of(type) == 0, type == DataType::kString) << i;
  }
  EXPECT_EQ(name_of(static_cast<DataType>(29)), "undefined");
  EXPECT_EQ(name_of(static_cast<DataType>(-5)), "undefined");
  EXPECT_EQ(data_type_from_name("float"), DataType::kFloat);
  EXPECT_EQ(data_type_from_name("nothing"), std::nullopt);
}

}  // namespace
}  // namespace thaw::ir
