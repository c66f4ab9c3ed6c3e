#include "thaw/core/small_float.h"

#include <gtest/gtest.h>

namespace thaw {
namespace {

constexpr FloatFormat kFormats[] = {kFloat16Format, kBfloat16Format, kE4M3Fn, kE4M3Fnuz, kE5M2,
                                    kE5M2Fnuz,      kE2M1,           kE2M3,   kE3M2};

TEST(SmallFloat, EveryCodeSurvivesDecodingAndEncoding) {
  for (const FloatFormat& format : kFormats) {
    const int bits = 1 + format.exponent_bits + format.mantissa_bits;
    for (uint32_t code = 0; code < 1U << bits; ++code) {
      const double value = decode_float(format, code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_float(format, encode_float(format, value))));
      } else {
        ASSERT_EQ(encode_float(format, value), code) << bits << " bits: " << value;
      }
    }
  }
  for (uint32_t code = 0; code < 255; ++code) EXPECT_EQ(encode_e8m0(decode_e8m0(code)), code);
  EXPECT_TRUE(std::isnan(decode_e8m0(encode_e8m0(std::nan("")))));
}

TEST(SmallFloat, SixBitsHaveTheirPublishedValues) {
  EXPECT_EQ(decode_float(kE2M3, 0x1f), 7.5);
  EXPECT_EQ(decode_float(kE2M3, 0x21), -0.125);
  EXPECT_EQ(decode_float(kE3M2, 0x1f), 28);
  EXPECT_EQ(decode_float(kE3M2, 0x01), 0.0625);
  EXPECT_EQ(encode_float(kE3M2, 1e9), 0x1fU);
  EXPECT_EQ(encode_float(kE2M3, -1e9), 0x3fU);
}

}  // namespace
}  // namespace thaw
