// Arithmetic of 64-bit integers that ends at the last of them where they do not have the result.
#pragma once

#include <cstdint>
#include <limits>

namespace thaw {

constexpr int64_t last_integer(bool is_low) {
  return is_low ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

constexpr int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? last_integer(a < 0) : sum;
}

constexpr int64_t saturated_difference(int64_t a, int64_t b) {
  int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? last_integer(a < 0) : difference;
}

constexpr int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? last_integer((a < 0) != (b < 0)) : product;
}

}  // namespace thaw
