#include "thaw/run/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "thaw/run/elements.h"

namespace thaw::run {

Summary summarize(const Array& array) {
  Summary summary;
  if (array.is_string() || is_complex(array.dtype)) return summary;
  constexpr int64_t kChunk = 8192;
  std::array<double, kChunk> values;
  const int64_t count = array.num_elements();
  int64_t finite = 0;
  double sum = 0;
  for (int64_t at = 0; at < count; at += kChunk) {
    const auto chunk = std::span(values).first(static_cast<size_t>(std::min(kChunk, count - at)));
    decode(array.dtype, array.bytes.data(), at, chunk);
    for (const double value : chunk) {
      if (std::isnan(value)) {
        ++summary.nans;
      } else if (std::isinf(value)) {
        ++summary.infinities;
      } else {
        summary.lowest = finite == 0 ? value : std::min(*summary.lowest, value);
        summary.highest = finite == 0 ? value : std::max(*summary.highest, value);
        sum += value;
        ++finite;
      }
    }
  }
  if (finite > 0) summary.mean = sum / static_cast<double>(finite);
  return summary;
}

}  // namespace thaw::run
