#include "thaw/model/float_convert.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace thaw::model {
namespace {

// IEEE 754 binary16 by integer arithmetic that compilers turn into vector code: no branch depends on the value.
float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t rest = half & 0x7fffu;
  // Normal numbers: the exponent moves from bias 15 to 127. Subnormal ones: their value is rest * 2^-24.
  const float normal = std::bit_cast<float>((rest << 13) + (uint32_t{112} << 23));
  const float subnormal = static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f;
  const float special = std::bit_cast<float>((rest << 13) | 0x7f800000u);
  const float magnitude = rest < 0x0400u ? subnormal : rest >= 0x7c00u ? special : normal;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t rest = bits & 0x7fffffffu;
  // Adding 0.5 to a number below 2^-14 leaves its nearest multiple of 2^-24 in the low bits of the sum.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  const uint32_t odd = rest >> 13 & 1u;
  const uint32_t normal = (rest - (uint32_t{112} << 23) + 0xfffu + odd) >> 13;
  const uint32_t nan = 0x7e00u;
  uint32_t half = rest < 0x38800000u ? subnormal : normal;
  half = rest >= 0x477ff000u ? 0x7c00u : half;
  half = rest > 0x7f800000u ? nan : half;
  return static_cast<uint16_t>(half | sign);
}

uint16_t float_to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const uint32_t nan = bits >> 16 | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

bool is_infinite(float value) { return (std::bit_cast<uint32_t>(value) & 0x7fffffffu) == 0x7f800000u; }

template <typename Convert, typename Out>
bool convert_all(std::span<const float> from, std::byte* bytes, Out infinity, Convert convert) {
  uint32_t lost = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const Out value = convert(from[i]);
    lost |= static_cast<uint32_t>((value & 0x7fff) == infinity && !is_infinite(from[i]));
    std::memcpy(bytes + i * sizeof(Out), &value, sizeof(Out));
  }
  return lost == 0;
}

}  // namespace

void to_floats(ir::DataType type, const std::byte* bytes, std::span<float> to) {
  if (type == ir::DataType::kFloat) {
    std::memcpy(to.data(), bytes, to.size_bytes());
    return;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes + i * sizeof(bits), sizeof(bits));
    to[i] =
        type == ir::DataType::kBfloat16 ? std::bit_cast<float>(static_cast<uint32_t>(bits) << 16) : half_to_float(bits);
  }
}

bool from_floats(std::span<const float> from, ir::DataType type, std::byte* bytes) {
  switch (type) {
    case ir::DataType::kFloat16:
      return convert_all<decltype(&float_to_half), uint16_t>(from, bytes, 0x7c00, float_to_half);
    case ir::DataType::kBfloat16:
      return convert_all<decltype(&float_to_bfloat), uint16_t>(from, bytes, 0x7f80, float_to_bfloat);
    default:
      std::memcpy(bytes, from.data(), from.size_bytes());
      return true;
  }
}

}  // namespace thaw::model
