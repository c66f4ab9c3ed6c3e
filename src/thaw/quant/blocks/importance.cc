#include "thaw/quant/blocks/importance.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thaw::quantizing::blocks {
namespace {

constexpr double kLeast = 0.01;  // that the square of an error counts, of what it does on the average

}  // namespace

Importance importance_of(const ColumnStatistics& statistics, const std::vector<float>& row_scales) {
  const auto k = static_cast<size_t>(statistics.k());
  const auto rows = static_cast<double>(statistics.rows);
  double mean_square = 0, squared_means = 0;
  for (size_t i = 0; i < k; ++i) {
    const double mean = statistics.sum[i] / std::max(rows, 1.0);
    mean_square += statistics.sum_squares[i] / std::max(rows, 1.0) / static_cast<double>(k);
    squared_means += mean * mean;
  }
  if (!(mean_square > 0)) return {};
  const double by_chance = statistics.mean_variance();
  const double share = squared_means > 0 ? std::max(0.0, 1 - by_chance / squared_means) : 0;
  Importance importance;
  for (size_t i = 0; i < k; ++i) {
    const double scale = row_scales.empty() ? 1 : row_scales[i], mean = share * statistics.sum[i] / rows;
    const double variance = std::max(0.0, statistics.sum_squares[i] / rows - mean * mean);
    importance.squares.push_back(static_cast<float>((variance / mean_square + kLeast) / (scale * scale)));
    importance.means.push_back(static_cast<float>(mean / std::sqrt(mean_square) / scale));
  }
  return importance;
}

Importance importance_of_one_sided(int64_t k) {
  constexpr double kShare = std::numbers::inv_pi;
  const auto positions = static_cast<size_t>(k);
  return {.squares = std::vector(positions, static_cast<float>(1 - kShare + kLeast)),
          .means = std::vector(positions, static_cast<float>(std::sqrt(kShare)))};
}

}  // namespace thaw::quantizing::blocks
