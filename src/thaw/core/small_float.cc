#include "thaw/core/small_float.h"

#include <algorithm>

namespace thaw {
namespace {

uint32_t largest_finite(const FloatFormat& format) {
  const uint32_t all = (1U << (format.exponent_bits + format.mantissa_bits)) - 1;
  switch (format.specials) {
    case FloatSpecials::kIeee:
      return all - (1U << format.mantissa_bits);
    case FloatSpecials::kFn:
      return all - 1;
    default:
      return all;
  }
}

}  // namespace

uint32_t encode_float(const FloatFormat& format, double value) {
  const int sign_shift = format.exponent_bits + format.mantissa_bits;
  const uint32_t sign = std::signbit(value) ? 1U << sign_shift : 0;
  const uint32_t top_exponent = ((1U << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) {
    switch (format.specials) {
      case FloatSpecials::kIeee:
        return sign | top_exponent | 1U << (format.mantissa_bits - 1);
      case FloatSpecials::kFn:
        return sign | ((1U << sign_shift) - 1);
      case FloatSpecials::kFnuz:
        return 1U << sign_shift;
      case FloatSpecials::kNone:
        return 0;
    }
  }
  const uint32_t overflow = sign | (format.specials == FloatSpecials::kIeee ? top_exponent : largest_finite(format));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return overflow;
  uint32_t code = 0;
  if (magnitude != 0) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, 0.5 <= f < 1
    const int lowest = 1 - format.bias;
    const int scale = std::max(exponent - 1, lowest) - format.mantissa_bits;  // weight of the last mantissa bit
    // nearbyint rounds ties to even; the product by a power of two is exact.
    const double steps = std::nearbyint(std::ldexp(magnitude, -scale));
    const auto whole = static_cast<uint64_t>(steps);
    // With the implicit bit, `whole` carries into the exponent by itself.
    const int64_t biased = std::max(exponent - 1, lowest) - lowest;
    const uint64_t wide = (static_cast<uint64_t>(biased) << format.mantissa_bits) + whole;
    if (wide > largest_finite(format)) return overflow;
    code = static_cast<uint32_t>(wide);
  }
  if (code == 0 && format.specials == FloatSpecials::kFnuz) return 0;
  return sign | code;
}

uint32_t encode_e8m0(double value) {
  if (std::isnan(value)) return 255;
  if (!(value > 0)) return 0;
  if (std::isinf(value)) return 254;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const int power = fraction >= 0.75 ? exponent : exponent - 1;
  return static_cast<uint32_t>(std::clamp(power + 127, 0, 254));
}

}  // namespace thaw
