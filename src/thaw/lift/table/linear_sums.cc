#include "thaw/lift/table/linear_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thaw::lifting {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> LinearSums::times(const std::vector<double>& entries) const {
  std::vector<double> out(sums_.size(), 0);
  for (size_t i = 0; i < sums_.size(); ++i)
    for (const Tap& tap : sums_[i]) out[i] += tap.weight * entries[static_cast<size_t>(tap.at)];
  return out;
}

std::vector<double> LinearSums::transposed_times(const std::vector<double>& sums) const {
  std::vector<double> out(unknowns_, 0);
  for (size_t i = 0; i < sums_.size(); ++i)
    for (const Tap& tap : sums_[i]) out[static_cast<size_t>(tap.at)] += tap.weight * sums[i];
  return out;
}

std::vector<double> LinearSums::squares() const {
  std::vector<double> all(unknowns_ * unknowns_, 0);
  for (const std::vector<Tap>& sum : sums_)
    for (const Tap& a : sum)
      for (const Tap& b : sum)
        all[static_cast<size_t>(a.at) * unknowns_ + static_cast<size_t>(b.at)] += a.weight * b.weight;
  return all;
}

// By elimination in the normal equations, the largest that is left first.
size_t LinearSums::rank() const {
  constexpr double kLeastPivot = 1e-6;
  std::vector<double> all = squares();
  const size_t n = unknowns_;
  std::vector<bool> done(n, false);
  size_t rank = 0;
  for (; rank < n; ++rank) {
    size_t pivot = n;
    for (size_t i = 0; i < n; ++i)
      if (!done[i] && (pivot == n || all[i * n + i] > all[pivot * n + pivot])) pivot = i;
    if (all[pivot * n + pivot] < kLeastPivot) break;
    done[pivot] = true;
    for (size_t i = 0; i < n; ++i) {
      const double share = done[i] ? 0 : all[i * n + pivot] / all[pivot * n + pivot];
      if (share == 0) continue;
      for (size_t j = 0; j < n; ++j) all[i * n + j] -= share * all[pivot * n + j];
    }
  }
  return rank;
}

bool LinearSums::is_confirmed() const { return (sums_.size() - rank()) * 4 >= sums_.size(); }

// By conjugate gradients on the normal equations, which need no factors.
bool LinearSums::hold(std::vector<double> left, double scale, int64_t& work) const {
  constexpr int kMostSteps = 1000;
  constexpr double kDone = 1e-22;  // of squares, relative to the first
  std::vector<double> entries(unknowns_, 0), slope = transposed_times(left), way = slope;
  double steep = dot(slope, slope);
  const double first = steep;
  for (int step = 0; step < kMostSteps && work > 0; ++step) {
    if (std::ranges::all_of(left, [&](double x) { return std::abs(x) <= kMostUnequal * scale; })) return true;
    if (steep <= kDone * first) return false;
    work -= static_cast<int64_t>(32 * sums_.size());
    const std::vector<double> along = times(way);
    const double far = steep / dot(along, along);
    for (size_t i = 0; i < entries.size(); ++i) entries[i] += far * way[i];
    for (size_t i = 0; i < left.size(); ++i) left[i] -= far * along[i];
    slope = transposed_times(left);
    const double now = dot(slope, slope);
    for (size_t i = 0; i < way.size(); ++i) way[i] = slope[i] + now / steep * way[i];
    steep = now;
  }
  return false;
}

LeastSquares::LeastSquares(const LinearSums& sums)
    : sums_(sums),
      n_(sums.unknowns()),
      lower_(sums.squares()),
      is_told_(factor() &&
               magnification(sums.count(), [this](const auto& wanted) { return solve(wanted); }) <= kMostMagnified) {}

// Cholesky's, in place of the normal equations.
bool LeastSquares::factor() {
  constexpr double kLeastPivot = 1e-6;
  for (size_t i = 0; i < n_; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = at(i, j);
      for (size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      if (i == j && sum < kLeastPivot) return false;
      at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
    }
  }
  return true;
}

std::vector<double> LeastSquares::back(std::vector<double> x) const {
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = 0; k < i; ++k) x[i] -= at(i, k) * x[k];
    x[i] /= at(i, i);
  }
  for (size_t i = n_; i-- > 0;) {
    x[i] /= at(i, i);
    for (size_t k = 0; k < i; ++k) x[k] -= at(i, k) * x[i];
  }
  return x;
}

}  // namespace thaw::lifting
