#include "thaw/ir/data/floats.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "thaw/core/half_float.h"

namespace thaw::ir {

void to_floats(DataType type, const std::byte* bytes, std::span<float> to) {
  switch (type) {
    case DataType::kFloat16:
      return widen_float16(bytes, to);
    case DataType::kBfloat16:
      return widen_bfloat16(bytes, to);
    default:
      std::memcpy(to.data(), bytes, to.size_bytes());
  }
}

void to_doubles(DataType type, const std::byte* bytes, std::span<double> to) {
  std::array<float, 256> block;
  const size_t width = static_cast<size_t>(bits_of(type)) / 8;
  for (size_t at = 0; at < to.size(); at += block.size()) {
    const auto floats = std::span(block).first(std::min(block.size(), to.size() - at));
    to_floats(type, bytes + at * width, floats);
    std::ranges::copy(floats, to.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

bool from_floats(std::span<const float> from, DataType type, std::byte* bytes) {
  switch (type) {
    case DataType::kFloat16:
      return narrow_to_float16(from, bytes);
    case DataType::kBfloat16:
      return narrow_to_bfloat16(from, bytes);
    default:
      std::memcpy(bytes, from.data(), from.size_bytes());
      return true;
  }
}

}  // namespace thaw::ir
