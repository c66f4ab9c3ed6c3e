#include "thaw/quant/blocks/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/quant/blocks/matrix_kernels.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr int64_t kRowsAtOnce = 64;
constexpr int64_t kMostKept = 256;
constexpr int kSquaredFarBelow = 40;  // numbers below 2 to this, squared and summed over many rows, are finite

float largest_of(std::span<const float> numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

}  // namespace

ColumnStatistics::ColumnStatistics(int64_t k, bool with_products)
    : sum(static_cast<size_t>(k), 0.0),
      sum_abs(static_cast<size_t>(k), 0.0),
      sum_squares(static_cast<size_t>(k), 0.0),
      products(with_products ? static_cast<size_t>(k * k) : 0, 0.0F),
      means_(static_cast<size_t>(k), 0.0),
      ended_sum_(static_cast<size_t>(k), 0.0) {}

void ColumnStatistics::add(std::span<const float> x) {
  const int64_t width = k();
  if (width == 0) return;
  std::vector<float> good;  // rows that are finite, and their squares' sums
  for (int64_t first = 0; first < static_cast<int64_t>(x.size()) / width;) {
    good.clear();
    int64_t taken = 0;
    for (; taken < kRowsAtOnce && first < static_cast<int64_t>(x.size()) / width; ++first) {
      const auto row = x.subspan(static_cast<size_t>(first * width), static_cast<size_t>(width));
      if (!std::ranges::all_of(row, [](float number) { return std::isfinite(number); })) continue;
      good.insert(good.end(), row.begin(), row.end());
      if (products.empty()) keep(row);
      ++rows;
      ++taken;
    }
    if (!products.empty()) raise_unit(largest_of(good));
    const auto by = static_cast<float>(1 / unit);
    tbb::parallel_for(int64_t{0}, width, [&](int64_t i) {
      throw_if_cancelled();
      const auto at = static_cast<size_t>(i);
      std::array<float, kRowsAtOnce> here;
      for (int64_t r = 0; r < taken; ++r) {
        const float number = good[static_cast<size_t>(r * width + i)];
        here[static_cast<size_t>(r)] = number * by * by;
        sum[at] += number;
        sum_abs[at] += std::abs(number);
        sum_squares[at] += static_cast<double>(number) * number;
      }
      if (products.empty()) return;
      add_scaled_rows(good.data() + i, static_cast<size_t>(taken), static_cast<size_t>(width), here.data(),
                      products.data() + i * width + i, static_cast<size_t>(width - i));
    });
  }
}

void ColumnStatistics::add(const ColumnStatistics& other) {
  const auto add_up = [](std::vector<double>& all, const std::vector<double>& more) {
    for (size_t i = 0; i < all.size(); ++i) all[i] += more[i];
  };
  rows += other.rows;
  add_up(sum, other.sum);
  add_up(sum_abs, other.sum_abs);
  add_up(sum_squares, other.sum_squares);
  add_up(means_, other.means_);
  kept.insert(kept.end(), other.kept.begin(), other.kept.end());
  means_squared_ += other.means_squared_;
  samples_ += other.samples_;
  if (products.empty()) return;
  raise_unit_to(other.unit);
  const double by = other.unit / unit;
  for (size_t i = 0; i < products.size(); ++i) products[i] += static_cast<float>(other.products[i] * by * by);
}

void ColumnStatistics::raise_unit(float largest) {
  if (largest > 0) raise_unit_to(std::ldexp(1.0, std::ilogb(largest) - kSquaredFarBelow));
}

void ColumnStatistics::raise_unit_to(double needed) {
  if (needed <= unit) return;
  const auto by = static_cast<float>(unit / needed);
  for (float& product : products) product *= by * by;
  unit = needed;
}

// Every row at first; whenever there are too many, every second of them goes.
void ColumnStatistics::keep(std::span<const float> row) {
  if (rows % stride_ != 0) return;
  const auto width = static_cast<size_t>(k());
  if (kept.size() == kMostKept * width) {
    for (size_t i = 1; 2 * i < kMostKept; ++i)
      std::copy_n(kept.begin() + static_cast<ptrdiff_t>(2 * i * width), width,
                  kept.begin() + static_cast<ptrdiff_t>(i * width));
    kept.resize(kMostKept / 2 * width);
    stride_ *= 2;
    if (rows % stride_ != 0) return;
  }
  kept.insert(kept.end(), row.begin(), row.end());
}

void ColumnStatistics::end_sample() {
  if (rows == ended_rows_) return;
  for (size_t i = 0; i < sum.size(); ++i) {
    const double mean = (sum[i] - ended_sum_[i]) / static_cast<double>(rows - ended_rows_);
    means_[i] += mean;
    means_squared_ += mean * mean;
  }
  ended_sum_ = sum;
  ended_rows_ = rows;
  ++samples_;
}

double ColumnStatistics::mean_variance() const {
  if (rows == 0) return 0;
  const auto count = static_cast<double>(samples_ > 1 ? samples_ : rows);
  double squares = samples_ > 1 ? means_squared_ : 0, squared = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    const double total = samples_ > 1 ? means_[i] : sum[i];
    squared += total * total / count;
    if (samples_ <= 1) squares += sum_squares[i];
  }
  return count > 1 ? std::max(0.0, squares - squared) / (count * (count - 1)) : squares;
}

void ColumnStatistics::finish() {
  end_sample();
  const int64_t width = k();
  if (products.empty()) return;
  double squares = 0, own = 0, own_squares = 0;  // of products of two positions; of a position with itself
  for (int64_t i = 0; i < width; ++i) {
    const double diagonal = products[static_cast<size_t>(i * width + i)];
    own += diagonal;
    own_squares += diagonal * diagonal;
    for (int64_t j = i + 1; j < width; ++j) {
      const double product = products[static_cast<size_t>(i * width + j)];
      squares += 2 * product * product;
    }
  }
  // The variance of a product's mean over n rows is (s_ii s_jj + s_ij^2) / n.
  const double by_chance = (own * own - own_squares + squares) / static_cast<double>(std::max<int64_t>(rows, 1));
  const auto share = static_cast<float>(squares > 0 ? std::max(0.0, 1 - by_chance / squares) : 1.0);
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = i + 1; j < width; ++j) products[static_cast<size_t>(i * width + j)] *= share;
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = 0; j < i; ++j)
      products[static_cast<size_t>(i * width + j)] = products[static_cast<size_t>(j * width + i)];
}

}  // namespace thaw::quantizing::blocks
