// The arithmetic of values at points (forms.h), by the names that dim/ has for sizes: what is written once over a type of numbers is reckoned in
// both. Internal to lift/.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

namespace thaw::lifting {

inline constexpr int64_t kLargestOfTerms = int64_t{1} << 28;  // four times one, times another, is reckoned in 64 bits

// Rounds toward minus infinity, for either sign of n.
template <typename Integer>
  requires(!std::is_class_v<Integer>)
Integer floor_div(Integer a, Integer n) {
  return a / n - (a % n != 0 && (a % n < 0) != (n < 0) ? 1 : 0);
}
template <typename Integer>
  requires(!std::is_class_v<Integer>)
Integer ceil_div(Integer a, Integer n) {
  return -floor_div(-a, n);
}

inline bool all_equal(std::span<const int64_t> values) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == values.front(); });
}

inline bool is_in_range(int64_t v) { return v > -kLargestOfTerms && v < kLargestOfTerms; }

inline uint64_t hash_of_values(std::span<const int64_t> values) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (const int64_t v : values) hash = (std::rotl(hash, 13) ^ static_cast<uint64_t>(v)) * 0xff51afd7ed558ccd;
  return hash ^ (hash >> 31);
}

}  // namespace thaw::lifting
