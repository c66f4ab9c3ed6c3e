#include "thaw/lift/table/joint_grid.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace thaw::lifting {
namespace {

constexpr int64_t kMostLearned = 1024;  // cells of the learned grid
constexpr int64_t kMostGiven = 8192;    // of the traces: where they have more, one is larger than what was learned

// Each cell of each trace as a sum of a few cells of a grid of this size.
class Equations {
 public:
  Equations(std::span<const LearnedGrid> resized, int64_t height, int64_t width, const Resizing& method)
      : resized_(resized), unknowns_(static_cast<size_t>(height * width)) {
    for (const LearnedGrid& trace : resized) {
      for (int64_t row = 0; row < trace.height; ++row) {
        const std::vector<Tap> down = taps_at(row, trace.height, height, method);
        for (int64_t column = 0; column < trace.width; ++column) {
          std::vector<Tap>& sum = sums_.emplace_back();
          for (const Tap& x : taps_at(column, trace.width, width, method))
            for (const Tap& y : down)
              if (x.weight != 0 && y.weight != 0) sum.push_back({y.at * width + x.at, y.weight * x.weight});
        }
      }
    }
  }
  size_t unknowns() const { return unknowns_; }
  size_t count() const { return sums_.size(); }

  std::vector<double> wanted(int64_t channel) const {
    std::vector<double> all;
    for (const LearnedGrid& trace : resized_)
      for (int64_t row = 0; row < trace.height; ++row)
        for (int64_t column = 0; column < trace.width; ++column) all.push_back(trace.at(row, column, channel));
    return all;
  }

  std::vector<double> times(const std::vector<double>& cells) const {
    std::vector<double> out(sums_.size(), 0);
    for (size_t i = 0; i < sums_.size(); ++i)
      for (const Tap& tap : sums_[i]) out[i] += tap.weight * cells[static_cast<size_t>(tap.at)];
    return out;
  }
  std::vector<double> transposed_times(const std::vector<double>& sums) const {
    std::vector<double> out(unknowns_, 0);
    for (size_t i = 0; i < sums_.size(); ++i)
      for (const Tap& tap : sums_[i]) out[static_cast<size_t>(tap.at)] += tap.weight * sums[i];
    return out;
  }

  // Whether some cells give a channel: conjugate gradients on the normal equations, which need no factors.
  bool hold(int64_t channel, double scale, int64_t& work) const {
    constexpr int kMostSteps = 1000;
    constexpr double kDone = 1e-22;  // of squares, relative to the first
    std::vector<double> cells(unknowns_, 0), left = wanted(channel), slope = transposed_times(left), way = slope;
    double steep = dot(slope, slope);
    const double first = steep;
    for (int step = 0; step < kMostSteps && work > 0; ++step) {
      if (std::ranges::all_of(left, [&](double x) { return std::abs(x) <= kMostUnequal * scale; })) return true;
      if (steep <= kDone * first) return false;
      work -= static_cast<int64_t>(32 * sums_.size());
      const std::vector<double> along = times(way);
      const double far = steep / dot(along, along);
      for (size_t i = 0; i < cells.size(); ++i) cells[i] += far * way[i];
      for (size_t i = 0; i < left.size(); ++i) left[i] -= far * along[i];
      slope = transposed_times(left);
      const double now = dot(slope, slope);
      for (size_t i = 0; i < way.size(); ++i) way[i] = slope[i] + now / steep * way[i];
      steep = now;
    }
    return false;
  }

  // The normal equations, row by row.
  std::vector<double> squares() const {
    std::vector<double> all(unknowns_ * unknowns_, 0);
    for (const std::vector<Tap>& sum : sums_)
      for (const Tap& a : sum)
        for (const Tap& b : sum)
          all[static_cast<size_t>(a.at) * unknowns_ + static_cast<size_t>(b.at)] += a.weight * b.weight;
    return all;
  }

 private:
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  std::span<const LearnedGrid> resized_;
  size_t unknowns_;
  std::vector<std::vector<Tap>> sums_;
};

// Cholesky's factor of the normal equations.
class Factor {
 public:
  explicit Factor(const Equations& of) : n_(of.unknowns()), lower_(of.squares()) {
    constexpr double kLeastPivot = 1e-6;
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = at(i, j);
        for (size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
        if (i == j && sum < kLeastPivot) return;
        at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
      }
    }
    solvable_ = true;
  }
  bool is_solvable() const { return solvable_; }

  std::vector<double> solve(std::vector<double> x) const {
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

 private:
  double& at(size_t row, size_t column) { return lower_[row * n_ + column]; }
  double at(size_t row, size_t column) const { return lower_[row * n_ + column]; }

  size_t n_;
  std::vector<double> lower_;
  bool solvable_ = false;
};

// By how much the largest error of an entry of a trace may grow.
double magnification(const Equations& equations, const Factor& factor) {
  std::vector<double> most(equations.unknowns(), 0), unit(equations.count(), 0);
  for (size_t i = 0; i < unit.size(); ++i) {
    unit[i] = 1;
    const std::vector<double> x = factor.solve(equations.transposed_times(unit));
    for (size_t k = 0; k < x.size(); ++k) most[k] += std::abs(x[k]);
    unit[i] = 0;
  }
  return *std::ranges::max_element(most);
}

// Heights and widths, the smaller grids first. As many cells as the traces have leave nothing to tell them by.
std::vector<std::pair<int64_t, int64_t>> possible_sizes(std::span<const LearnedGrid> resized) {
  int64_t cells = 0;
  bool is_list = true;
  std::set<int64_t> heights, widths;
  for (const LearnedGrid& trace : resized) {
    cells += trace.height * trace.width;
    is_list &= trace.height == 1;
    heights.insert(trace.height);
    widths.insert(trace.width);
  }
  const int64_t most = std::min(kMostLearned, cells * 4 / 5);
  std::set<std::pair<int64_t, int64_t>> sizes;
  for (int64_t side = 2; side <= most && (is_list || side * side <= most); ++side)
    sizes.emplace(is_list ? 1 : side, side);
  for (const int64_t height : heights)
    for (const int64_t width : widths)
      if (height * width <= most) sizes.emplace(height, width);
  std::vector<std::pair<int64_t, int64_t>> sorted(sizes.begin(), sizes.end());
  std::ranges::stable_sort(sorted, {}, [](const auto& size) { return size.first * size.second; });
  return sorted;
}

}  // namespace

std::optional<LearnedGrid> recover_together(std::span<const LearnedGrid> resized, const Resizing& method, double scale,
                                            int64_t& work) {
  int64_t given = 0;
  for (const LearnedGrid& trace : resized) given += trace.height * trace.width;
  if (given > kMostGiven) return std::nullopt;
  const int64_t channels = resized.front().channels;
  for (const auto& [height, width] : possible_sizes(resized)) {
    const Equations equations(resized, height, width, method);
    if (!equations.hold(0, scale, work) || !equations.hold(channels / 2, scale, work)) {
      if (work <= 0) return std::nullopt;
      continue;
    }
    const Factor factor(equations);
    if (!factor.is_solvable() || magnification(equations, factor) > kMostMagnified) return std::nullopt;
    LearnedGrid out{height, width, channels, std::vector<double>(static_cast<size_t>(height * width * channels))};
    for (int64_t c = 0; c < channels; ++c) {
      const std::vector<double> cells = factor.solve(equations.transposed_times(equations.wanted(c)));
      for (size_t i = 0; i < cells.size(); ++i)
        out.entries[i * static_cast<size_t>(channels) + static_cast<size_t>(c)] = cells[i];
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
