// Floating-point numbers of 4 to 16 bits, as double. Internal to ir/.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace thaw::ir {

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

inline double small_float(uint32_t bits, const FloatFormat& format) {
  const uint32_t mantissa_mask = (1u << format.mantissa_bits) - 1;
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = bits >> format.mantissa_bits & exponent_mask;
  const bool negative = bits >> (format.mantissa_bits + format.exponent_bits) & 1;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const double sign = negative ? -1.0 : 1.0;
  switch (format.specials) {
    case FloatSpecials::kIeee:
      if (exponent == exponent_mask) return mantissa ? kNan : sign * std::numeric_limits<double>::infinity();
      break;
    case FloatSpecials::kFn:
      if (exponent == exponent_mask && mantissa == mantissa_mask) return kNan;
      break;
    case FloatSpecials::kFnuz:
      if (negative && exponent == 0 && mantissa == 0) return kNan;
      break;
    case FloatSpecials::kNone:
      break;
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - format.bias - format.mantissa_bits);
  return sign * std::ldexp(static_cast<double>(mantissa | 1u << format.mantissa_bits),
                           static_cast<int>(exponent) - format.bias - format.mantissa_bits);
}

// Float8E8M0: a power of two.
inline double power_of_two(uint32_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

}  // namespace thaw::ir
