#include "thaw/quant/blocks/gptq.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/math/cholesky.h"
#include "thaw/quant/blocks/matrix_kernels.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr double kDampening = 0.01;  // of the mean of the Hessian's diagonal, added to it

// Positions of k in the order in which they are taken.
struct TakingOrder {
  std::vector<int64_t> blocks;
  std::vector<int64_t> positions;  // [k], block by block
};

TakingOrder taking_order(const ColumnStatistics& statistics, int64_t block) {
  const int64_t k = statistics.k(), blocks = (k + block - 1) / block;
  const auto& squares = statistics.sum_squares;
  TakingOrder order;
  order.blocks.resize(static_cast<size_t>(blocks));
  std::iota(order.blocks.begin(), order.blocks.end(), 0);
  std::vector<double> largest(static_cast<size_t>(blocks), 0);
  for (int64_t i = 0; i < k; ++i) largest[static_cast<size_t>(i / block)] += squares[static_cast<size_t>(i)];
  std::ranges::stable_sort(order.blocks, std::ranges::greater(),
                           [&](int64_t b) { return largest[static_cast<size_t>(b)]; });
  for (const int64_t b : order.blocks) {
    const auto begin = static_cast<ptrdiff_t>(order.positions.size());
    for (int64_t i = b * block; i < std::min(k, (b + 1) * block); ++i) order.positions.push_back(i);
    std::stable_sort(order.positions.begin() + begin, order.positions.end(), [&](int64_t a, int64_t c) {
      return squares[static_cast<size_t>(a)] > squares[static_cast<size_t>(c)];
    });
  }
  return order;
}

// The upper factor U of the inverse Hessian, H^-1 = U^T U, in the order given; row j is divided by its diagonal, which
// makes it what is taken off the positions after j for an error of 1 at j.
//
// With the order reversed, H = L L^T yields it without an inverse: reading L^-1 from its end is U.
std::vector<float> corrections(const ColumnStatistics& statistics, const std::vector<int64_t>& positions) {
  const int64_t k = statistics.k();
  std::vector<double> factor(static_cast<size_t>(k * k));
  double mean = 0;
  for (int64_t i = 0; i < k; ++i) mean += statistics.products[static_cast<size_t>(i * k + i)] / static_cast<double>(k);
  if (!(mean > 0)) mean = 1;
  for (double damp = kDampening;; damp *= 10) {
    for (int64_t i = 0; i < k; ++i) {
      const int64_t from = positions[static_cast<size_t>(k - 1 - i)];
      for (int64_t j = 0; j <= i; ++j)
        factor[static_cast<size_t>(i * k + j)] =
            statistics.products[static_cast<size_t>(from * k + positions[static_cast<size_t>(k - 1 - j)])];
      factor[static_cast<size_t>(i * k + i)] += damp * mean;
    }
    if (math::factor_dense(factor, k)) break;
  }
  // Columns of M = L^-1, from L M = 1, sixteen at once so that L is read that much less often. Row j of U is row k-1-j of
  // M read backwards.
  std::vector<float> upper(static_cast<size_t>(k * k));
  tbb::parallel_for(int64_t{0}, (k + kLanes - 1) / kLanes, [&](int64_t group) {
    throw_if_cancelled();
    const int64_t first = group * kLanes, lanes = std::min<int64_t>(kLanes, k - first);
    std::vector<double> m(static_cast<size_t>((k - first) * kLanes));
    for (int64_t i = first; i < k; ++i) {
      const double* row = factor.data() + i * k;
      double* here = m.data() + (i - first) * kLanes;
      combine(row + first, m.data(), static_cast<size_t>(i - first), here);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        here[lane] = ((i == first + lane ? 1.0 : 0.0) - here[lane]) / row[i];
        if (i >= first + lane)
          upper[static_cast<size_t>((k - 1 - i) * k + (k - 1 - first - lane))] = static_cast<float>(here[lane]);
      }
    }
  });
  tbb::parallel_for(int64_t{0}, k, [&](int64_t j) {
    const float diagonal = upper[static_cast<size_t>(j * k + j)];
    for (int64_t i = j; i < k; ++i) upper[static_cast<size_t>(j * k + i)] /= diagonal;
  });
  return upper;
}

}  // namespace

ChosenCodes gptq(const WeightMatrix& weight, const BlockFormat& format, const ColumnStatistics& statistics) {
  const int64_t k = weight.k(), n = weight.n(), block = format.block, blocks = (k + block - 1) / block;
  const TakingOrder order = taking_order(statistics, block);
  const std::vector<float> upper = corrections(statistics, order.positions);
  ChosenCodes chosen;
  chosen.codes.resize(static_cast<size_t>(n * blocks * block));
  chosen.scales.resize(static_cast<size_t>(n * blocks));
  chosen.zeros.resize(static_cast<size_t>(n * blocks));
  const WeightMatrix::All all(weight);
  std::atomic<bool> finite = true;
  tbb::parallel_for(int64_t{0}, (n + kLanes - 1) / kLanes, [&](int64_t group) {
    throw_if_cancelled();
    const int64_t first_n = group * kLanes;
    const int lanes = static_cast<int>(std::min<int64_t>(kLanes, n - first_n));
    // The columns of this task in the order of taking, each position corrected by those before it.
    std::vector<float> left(static_cast<size_t>(k * kLanes)), off(static_cast<size_t>(block * kLanes));
    const auto tile = std::make_unique_for_overwrite<Tile>();
    TileScales scales;
    std::vector<float> in_order(static_cast<size_t>(k * kLanes));
    for (int64_t b = 0; b < blocks; ++b) {
      const int count = static_cast<int>(std::min(block, k - b * block));
      weight.read(all.rows(), b * block, count, first_n, lanes, left.data() + b * block * kLanes);
    }
    for (const float number : left)
      if (!std::isfinite(number)) return finite.store(false);
    for (int64_t i = 0; i < k; ++i)
      std::memcpy(in_order.data() + i * kLanes, left.data() + order.positions[static_cast<size_t>(i)] * kLanes,
                  kLanes * sizeof(float));
    int64_t first = 0;
    for (const int64_t b : order.blocks) {
      const int count = static_cast<int>(std::min(block, k - b * block));
      tile->count = count;
      tile->weighted = true;
      std::memcpy(tile->weights, in_order.data() + first * kLanes, static_cast<size_t>(count) * kLanes * sizeof(float));
      // What an error costs after those that follow have made good what they can: 1 / U_jj^2, about the conditional variance
      // of the input; the diagonal itself serves as well and needs no second factor.
      const auto square = [&](int i) {
        return statistics.sum_squares[static_cast<size_t>(order.positions[static_cast<size_t>(first + i)])];
      };
      double most = 0;
      for (int i = 0; i < count; ++i) most = std::max(most, square(i));
      for (int i = 0; i < count; ++i)
        tile->importance[i] = most > 0 ? static_cast<float>(square(i) / most) + 0.01F : 1.0F;
      search(*tile, format, scales);
      CodeRange ranges[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) ranges[lane] = format.codes_held(scales.scale[lane], scales.zero[lane]);
      for (int i = 0; i < count; ++i) {
        float* column = in_order.data() + (first + i) * kLanes;
        float* error = off.data() + i * kLanes;
        const int64_t position = order.positions[static_cast<size_t>(first + i)];
        for (int lane = 0; lane < kLanes; ++lane) {
          const float code = std::clamp(std::nearbyint(column[lane] / scales.step[lane] + scales.zero[lane]),
                                        ranges[lane].lowest, ranges[lane].highest);
          error[lane] = column[lane] - (code - scales.zero[lane]) * scales.scale[lane];
          if (lane < lanes)
            chosen.codes[static_cast<size_t>((first_n + lane) * blocks * block + position)] =
                static_cast<uint8_t>(code);
        }
        const float* row = upper.data() + (first + i) * k + first;
        take_off(error, 1, row + i + 1, static_cast<size_t>(k), column + kLanes, static_cast<size_t>(count - i - 1));
      }
      // What the block was off, of all positions after it at once.
      take_off(off.data(), static_cast<size_t>(count), upper.data() + first * k + first + count, static_cast<size_t>(k),
               in_order.data() + (first + count) * kLanes, static_cast<size_t>(k - first - count));
      for (int lane = 0; lane < lanes; ++lane) {
        const auto at = static_cast<size_t>((first_n + lane) * blocks + b);
        chosen.scales[at] = scales.scale[lane];
        chosen.zeros[at] = static_cast<uint8_t>(scales.zero[lane]);
        for (int64_t i = count; i < block; ++i)
          chosen.codes[static_cast<size_t>((first_n + lane) * blocks * block + b * block + i)] =
              static_cast<uint8_t>(scales.zero[lane]);
      }
      first += count;
    }
  });
  if (finite.load()) return chosen;
  throw Error(ErrorCode::kInvalidFile, {.what = "holds a NaN or an infinity, which cannot be quantized",
                                        .where = fmt::format("tensor '{}'", weight.tensor().name),
                                        .expected = "finite weights",
                                        .next = "exclude its readers with --keep, or export the model again"});
}

}  // namespace thaw::quantizing::blocks
