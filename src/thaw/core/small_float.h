// Floating-point numbers of 4 to 16 bits, as double and back.
//
// Decoding is exact. Encoding rounds to the nearest number, ties to the even code; what lies past the largest finite
// number becomes infinity where the format has one, else the largest finite number (ONNX's saturating Cast). NaN gives
// the format's NaN, or 0 where it has none.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace thaw {

// What the bit patterns at the top (or of negative zero) stand for.
enum class FloatSpecials : uint8_t {
  kIeee,  // exponent all ones: infinity, NaN
  kFn,    // exponent and mantissa all ones: NaN; no infinity
  kFnuz,  // negative zero: NaN; no infinity
  kNone,  // every pattern is a number
};

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  FloatSpecials specials;
};

inline constexpr FloatFormat kFloat16Format{5, 10, 15, FloatSpecials::kIeee};
inline constexpr FloatFormat kBfloat16Format{8, 7, 127, FloatSpecials::kIeee};
inline constexpr FloatFormat kE4M3Fn{4, 3, 7, FloatSpecials::kFn};
inline constexpr FloatFormat kE4M3Fnuz{4, 3, 8, FloatSpecials::kFnuz};
inline constexpr FloatFormat kE5M2{5, 2, 15, FloatSpecials::kIeee};
inline constexpr FloatFormat kE5M2Fnuz{5, 2, 16, FloatSpecials::kFnuz};
inline constexpr FloatFormat kE2M1{2, 1, 1, FloatSpecials::kNone};
inline constexpr FloatFormat kE2M3{2, 3, 1, FloatSpecials::kNone};
inline constexpr FloatFormat kE3M2{3, 2, 3, FloatSpecials::kNone};

inline double decode_float(const FloatFormat& format, uint32_t code) {
  const int sign_shift = format.exponent_bits + format.mantissa_bits;
  const uint32_t mantissa = code & ((1U << format.mantissa_bits) - 1);
  const uint32_t exponent = (code >> format.mantissa_bits) & ((1U << format.exponent_bits) - 1);
  const bool negative = (code >> sign_shift) & 1;
  const uint32_t top = (1U << format.exponent_bits) - 1;
  if (format.specials == FloatSpecials::kIeee && exponent == top) {
    if (mantissa != 0) return std::numeric_limits<double>::quiet_NaN();
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (format.specials == FloatSpecials::kFn && exponent == top && mantissa == (1U << format.mantissa_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (format.specials == FloatSpecials::kFnuz && code == 1U << sign_shift) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) {
    const double value = std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissa_bits);
    return negative ? -value : value;
  }
  const uint64_t bits = static_cast<uint64_t>(negative) << 63 |
                        static_cast<uint64_t>(static_cast<int64_t>(exponent) - format.bias + 1023) << 52 |
                        static_cast<uint64_t>(mantissa) << (52 - format.mantissa_bits);
  return std::bit_cast<double>(bits);
}

uint32_t encode_float(const FloatFormat& format, double value);

// Float8E8M0 is 2^(code - 127); 255 is NaN. Encoding takes the nearest power of two, and the lowest for what is not
// above zero.
inline double decode_e8m0(uint32_t code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - 127);
}

uint32_t encode_e8m0(double value);

}  // namespace thaw
