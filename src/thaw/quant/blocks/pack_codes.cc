#include "thaw/quant/blocks/pack_codes.h"

namespace thaw::quantizing::blocks {

void pack_codes(std::span<const uint8_t> codes, int bits, uint8_t flip, std::byte* to) {
  const size_t each = 8 / static_cast<size_t>(bits), whole = codes.size() / each;
  const auto flipped = [&](size_t i) { return static_cast<unsigned>(codes[i] ^ flip); };
  if (bits == 4) {
    for (size_t i = 0; i < whole; ++i) to[i] = static_cast<std::byte>(flipped(2 * i) | flipped(2 * i + 1) << 4U);
  } else if (bits == 2) {
    for (size_t i = 0; i < whole; ++i)
      to[i] = static_cast<std::byte>(flipped(4 * i) | flipped(4 * i + 1) << 2U | flipped(4 * i + 2) << 4U |
                                     flipped(4 * i + 3) << 6U);
  } else {
    for (size_t i = 0; i < whole; ++i) to[i] = static_cast<std::byte>(flipped(i));
  }
  if (whole * each == codes.size()) return;
  unsigned last = 0;
  for (size_t i = whole * each; i < codes.size(); ++i)
    last |= flipped(i) << (static_cast<unsigned>(i - whole * each) * static_cast<unsigned>(bits));
  to[whole] = static_cast<std::byte>(last);
}

}  // namespace thaw::quantizing::blocks
