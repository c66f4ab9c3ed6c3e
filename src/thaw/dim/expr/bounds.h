// Interval arithmetic over int64 with infinities. Internal to dim/.
//
// Every operation returns an interval that holds every result of operands from the given intervals; where an end leaves
// int64 it becomes infinite (or the nearest value that is still a bound).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace thaw::dim {

struct Bounds {
  static constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPlusInfinity = std::numeric_limits<int64_t>::max();

  int64_t lower = kMinusInfinity;
  int64_t upper = kPlusInfinity;

  bool has_lower() const { return lower != kMinusInfinity; }
  bool has_upper() const { return upper != kPlusInfinity; }
  bool contains(int64_t value) const { return lower <= value && value <= upper; }
  bool is_point() const { return lower == upper; }
};

Bounds operator+(Bounds a, Bounds b);
Bounds operator*(Bounds a, Bounds b);
Bounds operator*(int64_t factor, Bounds a);
Bounds power(Bounds a, int exponent);  // exponent >= 1
// floor(a / b) for b other than 0: where b's interval holds 0, b is taken to be another value of it.
Bounds floor_div(Bounds a, Bounds b);

inline Bounds hull(Bounds a, Bounds b) { return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)}; }

// Rounds toward minus infinity; b != 0, and not INT64_MIN / -1.
constexpr int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// a - b * floor(a / b), in [0, b) for b > 0.
constexpr int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace thaw::dim
