#include "thaw/lift/table/kept/bucket_edges.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace thaw::lifting {
namespace {

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

// What a line may be at a place, that passes through all of these at 0, 1, 2, … A pair of them bounds it: low at one end
// and high at the other; lines of two parameters are bounded by pairs exactly.
Range line_at(std::span<const Range> through, double place) {
  Range out;
  const auto bound = [&](double at, const Range& near, double other, const Range& far) {
    const double slope =
        (place - at) / (at - other);  // from `far` over `near` to the place, in steps of their distance
    if (slope < 0) return;            // the place lies between: another pair
    out.low = std::max(out.low, near.low + slope * (near.low - far.high));
    out.high = std::min(out.high, near.high + slope * (near.high - far.low));
  };
  for (size_t i = 0; i < through.size(); ++i) {
    for (size_t j = i + 1; j < through.size(); ++j) {
      const auto x = static_cast<double>(i), y = static_cast<double>(j);
      if (place >= y) {
        bound(y, through[j], x, through[i]);
      } else if (place <= x) {
        bound(x, through[i], y, through[j]);
      } else {
        const double share = (place - x) / (y - x);
        out.low = std::max(out.low, through[i].low * (1 - share) + through[j].low * share);
        out.high = std::min(out.high, through[i].high * (1 - share) + through[j].high * share);
      }
    }
  }
  return out;
}

}  // namespace

std::optional<int64_t> end_of_last_bucket(std::span<const int64_t> starts, int64_t reach) {
  // The near ones have a bucket each; what grows begins with the first that holds several. The last that are enough.
  constexpr size_t kFewest = 4, kMost = 32;
  constexpr double kRounding = 1e-5;  // logarithms were taken in float32
  size_t first = 0;
  while (first + 1 < starts.size() && starts[first + 1] == starts[first] + 1) ++first;
  if (starts.size() - first < kFewest || starts[first] < 2) return std::nullopt;
  if (starts.size() - first > kMost) first = starts.size() - kMost;
  std::vector<Range> through;  // by bucket: the logarithm of what was rounded to its start
  for (const int64_t start : starts.subspan(first)) {
    const auto edge = static_cast<double>(start);
    through.push_back({std::log(edge - 1 - kRounding * edge), std::log(edge * (1 + kRounding))});
  }
  for (size_t j = 0; j < through.size(); ++j) {
    const Range at = line_at(through, static_cast<double>(j));
    if (at.low > at.high) return std::nullopt;
  }
  const Range next = line_at(through, static_cast<double>(through.size()));
  if (static_cast<double>(reach) > std::exp(next.high) * (1 + kRounding) + 1) return kNoEnd;
  const auto certain = static_cast<int64_t>(std::ceil(std::exp(next.low) * (1 - kRounding))) - 1;
  return std::max(certain, reach);
}

}  // namespace thaw::lifting
