#include "thaw/run/elements.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

using ir::DataType;

double decode_one(DataType type, uint32_t code) {
  std::byte bytes[4];
  std::memcpy(bytes, &code, 4);
  double value = 0;
  decode(type, bytes, 0, std::span(&value, 1));
  return value;
}

uint32_t encode_one(DataType type, double value) {
  std::byte bytes[4] = {};
  encode(type, std::span<const double>(&value, 1), bytes, 0);
  uint32_t code = 0;
  std::memcpy(&code, bytes, 4);
  return code;
}

TEST(Elements, SmallFloatsHaveTheirPublishedValues) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(decode_one(DataType::kFloat16, 0x3C01), 1.0009765625);
  EXPECT_EQ(decode_one(DataType::kFloat16, 0x7BFF), 65504);
  EXPECT_EQ(decode_one(DataType::kFloat16, 0x0001), std::ldexp(1, -24));
  EXPECT_EQ(decode_one(DataType::kFloat16, 0xFC00), -inf);
  EXPECT_EQ(decode_one(DataType::kBfloat16, 0x3F81), 1.0078125);
  EXPECT_EQ(decode_one(DataType::kFloat8E4M3FN, 0x7E), 448);
  EXPECT_TRUE(std::isnan(decode_one(DataType::kFloat8E4M3FN, 0x7F)));
  EXPECT_EQ(decode_one(DataType::kFloat8E4M3FNUZ, 0x7F), 240);
  EXPECT_TRUE(std::isnan(decode_one(DataType::kFloat8E4M3FNUZ, 0x80)));
  EXPECT_EQ(decode_one(DataType::kFloat8E5M2, 0x7B), 57344);
  EXPECT_EQ(decode_one(DataType::kFloat8E5M2FNUZ, 0x7F), 57344);
  EXPECT_EQ(decode_one(DataType::kFloat4E2M1, 0x7), 6);
  EXPECT_EQ(decode_one(DataType::kFloat4E2M1, 0x9), -0.5);
  EXPECT_EQ(decode_one(DataType::kFloat8E8M0, 130), 8);
}

TEST(Elements, EveryCodeOfASmallFloatSurvivesDecodingAndEncoding) {
  for (const auto& [type, codes] : {std::pair{DataType::kFloat16, 1U << 16},
                                    {DataType::kBfloat16, 1U << 16},
                                    {DataType::kFloat8E4M3FN, 256U},
                                    {DataType::kFloat8E4M3FNUZ, 256U},
                                    {DataType::kFloat8E5M2, 256U},
                                    {DataType::kFloat8E5M2FNUZ, 256U},
                                    {DataType::kFloat8E8M0, 256U},
                                    {DataType::kFloat4E2M1, 16U}}) {
    for (uint32_t code = 0; code < codes; ++code) {
      const double value = decode_one(type, code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_one(type, encode_one(type, value))));
      } else {
        ASSERT_EQ(encode_one(type, value), code) << ir::name_of(type) << " " << value;
      }
    }
  }
}

TEST(Elements, FloatsRoundToTheNearestAndToEven) {
  // Between two neighbours the nearer one wins; in the middle the one with the even code.
  for (const DataType type :
       {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8E4M3FN, DataType::kFloat4E2M1}) {
    const uint32_t last = type == DataType::kFloat4E2M1 ? 6 : type == DataType::kFloat8E4M3FN ? 0x7D : 0x7000;
    for (uint32_t code = 0; code < last; ++code) {
      const double low = decode_one(type, code), high = decode_one(type, code + 1);
      const double middle = low + (high - low) / 2;
      ASSERT_EQ(encode_one(type, middle), code % 2 == 0 ? code : code + 1) << ir::name_of(type) << " " << middle;
      ASSERT_EQ(encode_one(type, std::nextafter(middle, low)), code);
      ASSERT_EQ(encode_one(type, std::nextafter(middle, high)), code + 1);
    }
  }
}

TEST(Elements, WhatIsTooLargeBecomesInfinityOrTheLargest) {
  EXPECT_EQ(encode_one(DataType::kFloat16, 65519), 0x7BFFU);
  EXPECT_EQ(encode_one(DataType::kFloat16, 65520), 0x7C00U);
  EXPECT_EQ(encode_one(DataType::kFloat16, -1e300), 0xFC00U);
  EXPECT_EQ(encode_one(DataType::kFloat8E4M3FN, 1e9), 0x7EU);
  EXPECT_EQ(encode_one(DataType::kFloat8E4M3FNUZ, -0.0), 0U);
  EXPECT_EQ(encode_one(DataType::kFloat8E5M2, std::numeric_limits<double>::infinity()), 0x7CU);
  EXPECT_EQ(encode_one(DataType::kUint8, 300), 255U);
  EXPECT_EQ(encode_one(DataType::kUint8, -7), 0U);
  EXPECT_EQ(encode_one(DataType::kInt8, std::nan("")), 0U);
}

TEST(Elements, FourBitsLieLowHalfFirst) {
  std::byte bytes[2] = {};
  const double values[] = {1, -8, 7};
  encode(DataType::kInt4, std::span<const double>(values), bytes, 0);
  EXPECT_EQ(bytes[0], std::byte{0x81});
  EXPECT_EQ(bytes[1], std::byte{0x07});
  double back[3];
  decode(DataType::kInt4, bytes, 0, std::span<double>(back));
  EXPECT_EQ(std::vector<double>(back, back + 3), std::vector<double>(values, values + 3));
  const double more[] = {3, 0, 2, 1};
  std::byte byte[1] = {};
  encode(DataType::kUint2, std::span<const double>(more), byte, 0);
  EXPECT_EQ(byte[0], std::byte{0x63});
}

TEST(Elements, SixtyFourBitIntegersKeepEveryBit) {
  const std::vector<int64_t> values{std::numeric_limits<int64_t>::min(), -1, (int64_t{1} << 53) + 1};
  std::vector<std::byte> bytes(24);
  encode(DataType::kInt64, std::span<const int64_t>(values), bytes.data(), 0);
  std::vector<int64_t> back(3);
  decode(DataType::kInt64, bytes.data(), 0, std::span(back));
  EXPECT_EQ(back, values);
}

TEST(Elements, PackedSizesAreBounded) {
  EXPECT_EQ(packed_bytes(DataType::kInt4, 7), 4U);
  EXPECT_EQ(packed_bytes(DataType::kUint2, 7), 2U);
  EXPECT_EQ(packed_bytes(DataType::kComplex128, 3), 48U);
  EXPECT_EQ(packed_bytes(DataType::kString, 3), 0U);
  EXPECT_THROW(packed_bytes(DataType::kDouble, std::numeric_limits<int64_t>::max()), Error);
  EXPECT_THROW(packed_bytes(DataType::kUndefined, 1), Error);
  double value = 0;
  EXPECT_THROW(decode(DataType::kString, nullptr, 0, std::span(&value, 1)), Error);
}

}  // namespace
}  // namespace thaw::run
