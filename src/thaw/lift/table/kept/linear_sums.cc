#include "thaw/lift/table/kept/linear_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace thaw::lifting {
namespace {

constexpr double kLeastPivot = 1e-6;

}  // namespace

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

math::BandMatrix LinearSums::normal_equations() const {
  size_t band = 0;
  for (const std::vector<Tap>& sum : sums_) {
    if (sum.empty()) continue;
    const auto [first, last] = std::ranges::minmax(sum, {}, &Tap::at);
    band = std::max(band, static_cast<size_t>(last.at - first.at));
  }
  math::BandMatrix all(unknowns_, band);
  for (const std::vector<Tap>& sum : sums_)
    for (const Tap& a : sum)
      for (const Tap& b : sum)
        if (b.at <= a.at) all.at(static_cast<size_t>(a.at), static_cast<size_t>(b.at)) += a.weight * b.weight;
  return all;
}

// By elimination in the normal equations, the largest that is left first.
size_t LinearSums::rank() const {
  const size_t n = unknowns_;
  std::vector<double> all(n * n, 0);
  for (const std::vector<Tap>& sum : sums_)
    for (const Tap& a : sum)
      for (const Tap& b : sum) all[static_cast<size_t>(a.at) * n + static_cast<size_t>(b.at)] += a.weight * b.weight;
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

size_t LinearSums::count_apart() const {
  constexpr double kSteps = 1e9;  // of a weight: rounding may set the same place a bit before an entry
  std::set<std::map<int64_t, int64_t>> apart;
  for (const std::vector<Tap>& sum : sums_) {
    std::map<int64_t, int64_t> weights;
    for (const Tap& tap : sum) weights[tap.at] += std::llround(tap.weight * kSteps);
    std::erase_if(weights, [](const auto& weight) { return weight.second == 0; });
    apart.insert(std::move(weights));
  }
  return apart.size();
}

bool LinearSums::is_confirmed() const {
  const size_t apart = count_apart();
  return rank() * 4 <= apart * 3;
}

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
    : sums_(sums), factor_(sums.normal_equations()), leaves_none_open_(factor_.factor(kLeastPivot)) {}

double LeastSquares::magnification() const {
  std::vector<double> most, unit(sums_.count(), 0);
  for (double& one : unit) {
    one = 1;
    const std::vector<double> x = solve(unit);
    most.resize(x.size(), 0);
    for (size_t k = 0; k < x.size(); ++k) most[k] += std::abs(x[k]);
    one = 0;
  }
  return *std::ranges::max_element(most);
}

}  // namespace thaw::lifting
