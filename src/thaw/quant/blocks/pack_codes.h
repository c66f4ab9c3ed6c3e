// Integers of 2, 4 or 8 bits, one a byte, put together: the first in the lowest bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thaw::quantizing::blocks {

// to holds ceil(codes.size() * bits / 8) bytes. Each code has `flip` added without carry: the top bit of a code turns
// one of 0 to 2^bits - 1 into one with a sign.
void pack_codes(std::span<const uint8_t> codes, int bits, uint8_t flip, std::byte* to);

}  // namespace thaw::quantizing::blocks
