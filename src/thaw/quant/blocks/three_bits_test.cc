#include "thaw/quant/blocks/three_bits.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace thaw::quantizing::blocks {
namespace {

TEST(ThreeBits, EightCodesOfThreeBitsAreThreeBytes) {
  // Bytes of two codes, in chunks that end anywhere.
  std::mt19937 random(9);
  std::vector<std::byte> pairs(1003), packed, again;
  for (std::byte& pair : pairs) pair = static_cast<std::byte>(random() & 0x77U);
  ThreeBitPacker packer(
      [&](std::span<const std::byte> chunk) { packed.insert(packed.end(), chunk.begin(), chunk.end()); });
  for (std::span<const std::byte> left = pairs; !left.empty();) {
    const size_t some = std::min<size_t>(left.size(), random() % 7);
    packer.add(left.first(some));
    left = left.subspan(some);
  }
  packer.finish();
  ASSERT_EQ(static_cast<int64_t>(packed.size()), rows_of_three(std::ssize(pairs)) * 3);
  for (size_t i = 0; i < packed.size(); i += 3) {
    for (unsigned pair = 0; pair < 4; ++pair) {
      const auto lows = static_cast<unsigned>(packed[i + pair / 2]) >> pair % 2 * 2 & 0x33U;
      const auto highs = static_cast<unsigned>(packed[i + 2]) >> pair & 0x11U;
      again.push_back(static_cast<std::byte>(lows | highs << 2U));
    }
  }
  again.resize(pairs.size());
  EXPECT_EQ(again, pairs);
}

}  // namespace
}  // namespace thaw::quantizing::blocks
