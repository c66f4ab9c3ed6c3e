#include "thaw/ir/data/floats.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "thaw/core/small_float.h"

namespace thaw::ir {
namespace {

struct Small {
  DataType type;
  const FloatFormat& format;
};
const Small kSmall[] = {{DataType::kFloat16, kFloat16Format}, {DataType::kBfloat16, kBfloat16Format}};

std::vector<uint16_t> narrowed(const std::vector<float>& values, DataType type, bool* kept = nullptr) {
  std::vector<uint16_t> codes(values.size());
  const bool all = from_floats(values, type, reinterpret_cast<std::byte*>(codes.data()));
  if (kept) *kept = all;
  return codes;
}

TEST(Floats, EveryCodeWidensToItsValue) {
  for (const Small& small : kSmall) {
    std::vector<uint16_t> codes(1 << 16);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
    std::vector<float> values(codes.size());
    to_floats(small.type, reinterpret_cast<const std::byte*>(codes.data()), values);
    for (uint32_t code = 0; code < codes.size(); ++code) {
      const double wanted = decode_float(small.format, code);
      if (std::isnan(wanted)) {
        ASSERT_TRUE(std::isnan(values[code])) << code;
      } else {
        ASSERT_EQ(values[code], wanted) << code;
        ASSERT_EQ(std::signbit(values[code]), std::signbit(wanted)) << code;
      }
    }
  }
}

// Between each two neighbours: a little less than the middle, the middle, a little more.
TEST(Floats, RoundsToTheNearestAndTiesToEven) {
  for (const Small& small : kSmall) {
    std::vector<float> values;
    std::vector<uint16_t> wanted;
    const uint32_t infinity = encode_float(small.format, std::numeric_limits<double>::infinity());
    for (uint32_t code = 0; code + 1 < infinity; ++code) {
      const auto low = static_cast<float>(decode_float(small.format, code));
      const auto high = static_cast<float>(decode_float(small.format, code + 1));
      const float middle = low + (high - low) / 2;
      for (const float value : {low, std::nextafter(middle, low), middle, std::nextafter(middle, high)}) {
        for (const float sign : {1.0F, -1.0F}) {
          values.push_back(sign * value);
          wanted.push_back(static_cast<uint16_t>(encode_float(small.format, sign * value)));
        }
      }
    }
    bool kept = false;
    EXPECT_EQ(narrowed(values, small.type, &kept), wanted);
    EXPECT_TRUE(kept);
  }
}

RC_GTEST_PROP(Floats, AnyBitsOfAnyLengthAreRoundedAsTheFormatSays, (const std::vector<uint32_t>& bits)) {
  std::vector<float> values;
  for (const uint32_t pattern : bits) values.push_back(std::bit_cast<float>(pattern));
  for (const Small& small : kSmall) {
    bool kept = false, lossless = true;
    const std::vector<uint16_t> codes = narrowed(values, small.type, &kept);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t wanted = encode_float(small.format, values[i]);
      const double back = decode_float(small.format, codes[i]);
      if (std::isnan(values[i])) {
        RC_ASSERT(std::isnan(back));
      } else {
        RC_ASSERT(codes[i] == wanted);
        lossless &= !std::isinf(back) || std::isinf(values[i]);
      }
    }
    RC_ASSERT(kept == lossless);
  }
}

TEST(Floats, SaysWhereAFiniteNumberIsLost) {
  for (size_t length : {1, 7, 16, 33}) {
    for (size_t at = 0; at < length; ++at) {
      std::vector<float> values(length, 1.5F);
      bool kept = false;
      values[at] = 65519.0F;  // rounds to 65504
      EXPECT_EQ(narrowed(values, DataType::kFloat16, &kept)[at], 0x7bff);
      EXPECT_TRUE(kept);
      values[at] = -65520.0F;
      EXPECT_EQ(narrowed(values, DataType::kFloat16, &kept)[at], 0xfc00);
      EXPECT_FALSE(kept);
      values[at] = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(narrowed(values, DataType::kFloat16, &kept)[at], 0xfc00);
      EXPECT_TRUE(kept);
      values[at] = std::numeric_limits<float>::max();
      EXPECT_EQ(narrowed(values, DataType::kBfloat16, &kept)[at], 0x7f80);
      EXPECT_FALSE(kept);
    }
  }
}

TEST(Floats, ReadsFromAnyAddressAndWritesNoFurther) {
  std::vector<std::byte> bytes(1 + 2 * 37);
  const uint16_t code = 0x3e00;  // 1.5
  for (size_t i = 0; i < 37; ++i) std::memcpy(&bytes[1 + 2 * i], &code, 2);
  std::vector<float> values(40, -1.0F);
  to_floats(DataType::kFloat16, bytes.data() + 1, std::span(values).first(37));
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i < 37 ? 1.5F : -1.0F);
  std::vector<std::byte> written(2 * 37 + 3, std::byte{0xaa});
  EXPECT_TRUE(from_floats(std::span(values).first(37), DataType::kFloat16, written.data() + 1));
  EXPECT_EQ(written.front(), std::byte{0xaa});
  EXPECT_EQ(written[2 * 37 + 1], std::byte{0xaa});
  EXPECT_EQ(std::memcmp(written.data() + 1, bytes.data() + 1, size_t{2} * 37), 0);
}

}  // namespace
}  // namespace thaw::ir
