// What it takes to write down numbers and operators (enumerate.h). Internal to lift/.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "thaw/lift/term/forms.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {

inline constexpr double kBitsOfProduct = 2, kBitsOfQuotient = 4.5;
inline constexpr double kBitsOfWindow = 1.5;  // a number that readers cut by
inline constexpr double kNearlyAsPlain = 3;   // of one trace

inline double bits_of(int64_t n) {
  n = std::abs(n);
  if (n <= 1) return 1;
  const double length = std::log2(static_cast<double>(n));
  return std::has_single_bit(static_cast<uint64_t>(n)) ? 1 + 0.5 * length : 2 + length;
}
inline double bits_of_factor(int64_t n) { return n == 1 ? 0 : 1 + bits_of(n) + (n < 0 ? 3 : 0); }
inline double bits_of_piece(int64_t n) { return 0.5 + bits_of(n); }

// Of one point alone, nothing is known to be constant.
inline bool is_steady(std::span<const int64_t> at) { return at.size() > 1 && all_equal(at); }

inline bool is_cut(const Forms::Form& form) {
  return form.shape != Forms::Shape::kItself && form.shape != Forms::Shape::kDistances &&
         form.shape != Forms::Shape::kLast;
}

}  // namespace thaw::lifting
