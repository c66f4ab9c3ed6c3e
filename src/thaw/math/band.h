// A band along the diagonal of a table: rows and columns whose distance lies between two limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace thaw::math {

// low <= distance <= high; nullopt: no limit.
struct Band {
  std::optional<int64_t> low = {}, high = {};

  friend bool operator==(const Band&, const Band&) = default;
};

// The band that the entries inside lie in, and none of the others: with a limit where there is an entry beyond it. nullopt where
// there is none of these, or none inside. each_entry(visit) calls visit(distance, is_inside) for all entries, each time it is called.
template <typename EachEntry>
std::optional<Band> band_of(const EachEntry& each_entry) {
  std::optional<int64_t> low, high;
  each_entry([&](int64_t distance, bool is_inside) {
    if (!is_inside) return;
    low = std::min(low.value_or(distance), distance);
    high = std::max(high.value_or(distance), distance);
  });
  if (!low) return std::nullopt;
  Band band;
  bool is_one = true;
  each_entry([&](int64_t distance, bool is_inside) {
    if (is_inside) return;
    is_one &= distance < *low || distance > *high;
    (distance < * low ? band.low = low : band.high = high);
  });
  return is_one ? std::optional(band) : std::nullopt;
}

}  // namespace thaw::math
