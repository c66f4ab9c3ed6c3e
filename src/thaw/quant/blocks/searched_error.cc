#include "thaw/quant/blocks/searched_error.h"

#include <algorithm>
#include <memory>

#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/quant/blocks/matrix_kernels.h"
#include "thaw/quant/blocks/tile.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr int64_t kTilesLookedAt = 8;  // of each weight

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

// Of the sixteen columns from `first_n`.
double tile_error(const WeightMatrix& weight, const WeightMatrix::StoredRows& rows, int64_t first_n,
                  const SearchWay& way, const BlockFormat& format, const ColumnStatistics& statistics) {
  const auto& [scales, importance] = way;
  const int64_t k = weight.k();
  const int lanes = static_cast<int>(std::min<int64_t>(kLanes, weight.n() - first_n));
  const auto tile = std::make_unique_for_overwrite<Tile>();
  std::vector<uint8_t> codes(static_cast<size_t>(format.block) * kLanes);
  std::vector<float> errors(static_cast<size_t>(k * kLanes));
  TileScales chosen;
  for (int64_t first = 0; first < k; first += format.block) {
    tile->count = static_cast<int>(std::min(format.block, k - first));
    tile->weighted = importance != nullptr;
    weight.read(rows, first, tile->count, first_n, lanes, tile->weights);
    for (int i = 0; i < tile->count * kLanes; ++i) tile->weights[i] *= scales[static_cast<size_t>(first + i / kLanes)];
    for (int i = 0; tile->weighted && i < tile->count; ++i) {
      const auto position = static_cast<size_t>(first + i);
      tile->importance[i] = importance->squares[position] / (scales[position] * scales[position]);
      tile->means[i] = importance->means[position] / scales[position];
    }
    (format.real_zeros ? search_real : search)(*tile, format, chosen);
    encode_about_means(*tile, format, chosen, codes.data());
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

}  // namespace

std::vector<double> searched_errors(std::span<const WeightMatrix> weights, std::span<const SearchWay> ways,
                                    const BlockFormat& format, const ColumnStatistics& statistics) {
  std::vector<double> errors(ways.size(), 0.0);
  for (const WeightMatrix& weight : weights) {
    const WeightMatrix::All all(weight);
    const int64_t tiles = (weight.n() + kLanes - 1) / kLanes, looked_at = std::min(tiles, kTilesLookedAt);
    std::vector<double> parts(static_cast<size_t>(looked_at) * ways.size());
    tbb::parallel_for(size_t{0}, parts.size(), [&](size_t task) {
      throw_if_cancelled();
      const int64_t tile = static_cast<int64_t>(task) % looked_at;
      parts[task] = tile_error(weight, all.rows(), tile * tiles / looked_at * kLanes,
                               ways[task / static_cast<size_t>(looked_at)], format, statistics);
    });
    // Always in one order: the same samples make the same choice.
    for (size_t task = 0; task < parts.size(); ++task) errors[task / static_cast<size_t>(looked_at)] += parts[task];
    weight.release(0, weight.k(), 0, weight.n());
  }
  return errors;
}

bool importance_serves(const WeightMatrix& weight, const BlockFormat& format, const ColumnStatistics& statistics,
                       const Importance& importance) {
  const std::vector<float> ones(static_cast<size_t>(weight.k()), 1.0F);
  const SearchWay ways[] = {{ones, &importance}, {ones}};
  const std::vector<double> errors = searched_errors(std::span(&weight, 1), ways, format, statistics);
  return errors[0] < errors[1];
}

}  // namespace thaw::quantizing::blocks
