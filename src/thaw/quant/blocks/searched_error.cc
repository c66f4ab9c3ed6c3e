#include "thaw/quant/blocks/searched_error.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include <tbb/parallel_for.h>

#include "thaw/quant/blocks/matrix_kernels.h"
#include "thaw/quant/blocks/tile.h"

namespace thaw::quantizing::blocks {
namespace {

// Sum of squares of x * errors for the rows of x that were kept; errors [k, kLanes].
double error_over_rows(std::span<const float> errors, const ColumnStatistics& statistics) {
  const auto k = static_cast<size_t>(statistics.k());
  double sum = 0;
  for (size_t first = 0; first + k <= statistics.kept.size(); first += k) {
    float out[kLanes] = {};
    add_scaled_rows(errors.data(), k, kLanes, statistics.kept.data() + first, out, kLanes);
    for (const float off : out) sum += static_cast<double>(off) * off;
  }
  return sum;
}

// x^T x of the errors of sixteen columns, [k, kLanes].
double output_error(std::span<const float> errors, const ColumnStatistics& statistics) {
  if (!statistics.kept.empty()) return error_over_rows(errors, statistics);
  const int64_t k = statistics.k();
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    const float* here = errors.data() + i * kLanes;
    if (!statistics.has_products()) {
      for (int lane = 0; lane < kLanes; ++lane)
        sum += static_cast<double>(here[lane]) * here[lane] * statistics.sum_squares[static_cast<size_t>(i)];
      continue;
    }
    float met[kLanes] = {};
    const float* row = statistics.products.data() + i * k;
    add_scaled_rows(errors.data(), static_cast<size_t>(k), kLanes, row, met, kLanes);
    for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(here[lane]) * met[lane];
  }
  return sum;
}

}  // namespace

double searched_error(const WeightMatrix& weight, const WeightMatrix::StoredRows& rows, int64_t first_n,
                      std::span<const float> scales, std::span<const float> importance, const BlockFormat& format,
                      const ColumnStatistics& statistics) {
  const int64_t k = weight.k();
  const int lanes = static_cast<int>(std::min<int64_t>(kLanes, weight.n() - first_n));
  const auto tile = std::make_unique_for_overwrite<Tile>();
  std::vector<uint8_t> codes(static_cast<size_t>(format.block) * kLanes);
  std::vector<float> errors(static_cast<size_t>(k * kLanes));
  TileScales chosen;
  for (int64_t first = 0; first < k; first += format.block) {
    tile->count = static_cast<int>(std::min(format.block, k - first));
    tile->weighted = !importance.empty();
    weight.read(rows, first, tile->count, first_n, lanes, tile->weights);
    for (int i = 0; i < tile->count * kLanes; ++i) tile->weights[i] *= scales[static_cast<size_t>(first + i / kLanes)];
    for (int i = 0; tile->weighted && i < tile->count; ++i) {
      const auto place = static_cast<size_t>(first + i);
      tile->importance[i] = importance[place] / (scales[place] * scales[place]);
    }
    (format.real_zeros ? search_real : search)(*tile, format, chosen);
    encode(*tile, format, chosen, codes.data());
    for (int i = 0; i < tile->count * kLanes; ++i) {
      const int lane = i % kLanes;
      const float decoded =
          (static_cast<float>(codes[static_cast<size_t>(i)]) - chosen.zero[lane]) * chosen.scale[lane];
      errors[static_cast<size_t>(first * kLanes + i)] =
          (tile->weights[i] - decoded) / scales[static_cast<size_t>(first + i / kLanes)];
    }
  }
  return output_error(errors, statistics);
}

bool importance_serves(const WeightMatrix& weight, const BlockFormat& format, const ColumnStatistics& statistics,
                       std::span<const float> importance) {
  const WeightMatrix::All all(weight);
  const int64_t tiles = (weight.n() + kLanes - 1) / kLanes, looked_at = std::min(tiles, kTilesLookedAt);
  const std::vector<float> ones(static_cast<size_t>(weight.k()), 1.0F);
  std::vector<double> with(static_cast<size_t>(looked_at)), without(with);
  tbb::parallel_for(int64_t{0}, 2 * looked_at, [&](int64_t task) {
    const int64_t tile = task / 2;
    const bool counts = task % 2 == 0;
    (counts ? with : without)[static_cast<size_t>(tile)] =
        searched_error(weight, all.rows(), tile * tiles / looked_at * kLanes, ones,
                       counts ? importance : std::span<const float>(), format, statistics);
  });
  weight.release(0, weight.k(), 0, weight.n());
  return std::accumulate(with.begin(), with.end(), 0.0) < std::accumulate(without.begin(), without.end(), 0.0);
}

}  // namespace thaw::quantizing::blocks
