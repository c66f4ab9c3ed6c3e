#include "thaw/rewrite/stands_for.h"

#include <algorithm>
#include <cmath>

#include "thaw/core/small_float.h"

namespace thaw::rewrite {
namespace {

// Relative: decimals of seven digits, or what a few operations in float32 leave.
constexpr double kFloat32 = 1e-6;
// One over one over a number.
constexpr double kDouble = 1e-14;

bool is_near(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

double rounded(const FloatFormat& format, double number) { return decode_float(format, encode_float(format, number)); }

}  // namespace

bool stands_for(double number, double constant) {
  if (!std::isfinite(number) || !std::isfinite(constant)) return number == constant;
  if (is_near(number, constant, kFloat32)) return true;
  if (constant == 0 || number == 0) return false;
  for (const FloatFormat& format : {kBfloat16Format, kFloat16Format})
    if (number == rounded(format, constant) || is_near(1 / number, rounded(format, 1 / constant), kDouble)) return true;
  return false;
}

}  // namespace thaw::rewrite
