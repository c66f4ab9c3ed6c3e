#include "thaw/quant/int8/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

namespace thaw::quantizing::int8 {
namespace {

constexpr size_t kCountedAtOnce = size_t{1} << 16;  // numbers
constexpr int kMagnitudeBins = 2048;
constexpr uint64_t kSeenPerBin = 64, kFewestBins = 512;  // fewer of them are noise, and the divergence would follow it

using Counts = std::vector<uint64_t>;

// Doubles so often that any float is reached.
constexpr int kMostDoublings = 300;

}  // namespace

Histogram::Histogram(Range range) : range_(range), is_open_(!(range.lowest < range.highest)), counts_(kBins, 0) {}

void Histogram::widen(float number) {
  if (is_open_) {
    // As wide as the number is large: a range without width has no bins.
    const double size = std::max(std::fabs(static_cast<double>(number)), 1e-30);
    range_ = {number - size, number + size};
    is_open_ = false;
    return;
  }
  for (int i = 0; i < kMostDoublings && (number < range_.lowest || number > range_.highest); ++i) {
    const double size = range_.highest - range_.lowest;
    const bool down = number < range_.lowest;
    Counts wider(kBins, 0);
    for (int bin = 0; bin < kBins; ++bin)
      wider[static_cast<size_t>((down ? kBins + bin : bin) / 2)] += counts_[static_cast<size_t>(bin)];
    counts_ = std::move(wider);
    (down ? range_.lowest : range_.highest) += down ? -size : size;
  }
}

void Histogram::add(std::span<const float> numbers) {
  if (numbers.empty()) return;
  const auto [low, high] = std::ranges::minmax(numbers);
  for (const float end : {low, high})
    if (is_open_ || end < range_.lowest || end > range_.highest) widen(end);
  const double lowest = range_.lowest, per_bin = 1 / width();
  const Counts added = tbb::parallel_reduce(
      tbb::blocked_range<size_t>(0, numbers.size(), kCountedAtOnce), Counts(kBins, 0),
      [&](const tbb::blocked_range<size_t>& part, Counts counts) {
        for (size_t i = part.begin(); i < part.end(); ++i) {
          const auto bin = static_cast<int>((numbers[i] - lowest) * per_bin);
          ++counts[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
        }
        return counts;
      },
      [](Counts a, const Counts& b) {
        for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
        return a;
      });
  for (size_t i = 0; i < added.size(); ++i) counts_[i] += added[i];
  total_ += numbers.size();
}

namespace {

// Magnitudes in bins from 0 to the largest.
struct Magnitudes {
  std::vector<double> counts;
  double width = 0;
};

Magnitudes magnitudes_of(const Histogram& seen, int bins = kMagnitudeBins) {
  const double largest = std::max(-seen.range().lowest, seen.range().highest);
  Magnitudes found{std::vector<double>(static_cast<size_t>(bins), 0), largest / bins};
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    const uint64_t count = seen.counts()[static_cast<size_t>(bin)];
    if (count == 0) continue;
    const auto at = static_cast<int>(std::fabs(seen.middle_of(bin)) / found.width);
    found.counts[static_cast<size_t>(std::min(at, bins - 1))] += static_cast<double>(count);
  }
  return found;
}

Range within(const Histogram& seen, double threshold) {
  return {std::max(seen.range().lowest, -threshold), std::min(seen.range().highest, threshold)};
}

// How much is lost where `kept` bins stand for all, what lies behind them in the last, in so many levels. `kept`: the bins before
// what lies behind was added.
double divergence(std::span<const double> kept, double outliers, size_t levels) {
  const size_t count = kept.size();
  double total_p = outliers, total_q = 0;
  for (const double n : kept) total_p += n;
  total_q = total_p - outliers;
  if (!(total_q > 0)) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t first = level * count / levels, last = (level + 1) * count / levels;
    double in_level = 0;
    int used = 0;
    for (size_t i = first; i < last; ++i) {
      in_level += kept[i];
      used += kept[i] > 0;
    }
    for (size_t i = first; i < last; ++i) {
      const double p = kept[i] + (i + 1 == count ? outliers : 0);
      if (!(p > 0)) continue;
      // What the levels say never happens counts as a trace.
      const double q = kept[i] > 0 ? in_level / used / total_q : 1e-4 / total_p;
      sum += p / total_p * std::log(p / total_p / q);
    }
  }
  return sum;
}

}  // namespace

Range percentile_range(const Histogram& seen, double percentile, bool symmetric) {
  if (seen.total() == 0) return seen.range();
  const double outside = (100 - percentile) / 100 * static_cast<double>(seen.total());
  if (symmetric) {
    const Magnitudes magnitudes = magnitudes_of(seen);
    double above = 0;
    int bin = kMagnitudeBins;
    while (bin > 1 && above + magnitudes.counts[static_cast<size_t>(bin) - 1] <= outside)
      above += magnitudes.counts[static_cast<size_t>(--bin)];
    return within(seen, bin * magnitudes.width);
  }
  const std::span<const uint64_t> counts = seen.counts();
  int low = 0, high = Histogram::kBins;
  for (double below = 0; low + 1 < high && below + static_cast<double>(counts[static_cast<size_t>(low)]) <= outside;)
    below += static_cast<double>(counts[static_cast<size_t>(low++)]);
  for (double above = 0;
       high - 1 > low && above + static_cast<double>(counts[static_cast<size_t>(high) - 1]) <= outside;)
    above += static_cast<double>(counts[static_cast<size_t>(--high)]);
  return {seen.range().lowest + low * seen.width(), seen.range().lowest + high * seen.width()};
}

namespace {

// Below this threshold, in bins, cutting off costs more than the finer steps gain: the squared error is above that of all bins.
int fewest_bins(const Histogram& seen, const Codes& codes, bool symmetric, int levels, int bins, double width) {
  const auto error_at = [&](int kept) {
    return mean_squared_error(seen, affine_of(within(seen, kept * width), codes, symmetric), codes);
  };
  const double whole = error_at(bins);
  int low = levels, high = bins;  // the error grows towards fewer bins
  while (low < high) {
    const int middle = (low + high) / 2;
    if (error_at(middle) <= whole) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

}  // namespace

Range entropy_range(const Histogram& seen, const Codes& codes, bool symmetric) {
  // So few numbers do not tell how they are distributed.
  if (seen.total() < kSeenPerBin * kFewestBins) return seen.range();
  int bins = kMagnitudeBins;
  while (seen.total() / static_cast<uint64_t>(bins) < kSeenPerBin) bins /= 2;
  Magnitudes magnitudes = magnitudes_of(seen, bins);
  if (!(magnitudes.width > 0)) return seen.range();
  // 0 is exact at every scale: how often it is seen, as behind a Relu, says nothing for or against one.
  magnitudes.counts[0] = magnitudes.counts[1];
  const bool one_sided = seen.range().lowest >= 0 || seen.range().highest <= 0;
  const int levels = one_sided ? 255 : 128;
  const std::span<const double> counts = magnitudes.counts;
  double outliers = 0, least = std::numeric_limits<double>::infinity();
  int best = bins;
  const int fewest = fewest_bins(seen, codes, symmetric, levels, bins, magnitudes.width);
  for (int kept = bins; kept >= fewest; --kept) {
    if (kept < bins) outliers += counts[static_cast<size_t>(kept)];
    const double lost = divergence(counts.first(static_cast<size_t>(kept)), outliers, static_cast<size_t>(levels));
    if (lost < least) {
      least = lost;
      best = kept;
    }
  }
  return within(seen, best * magnitudes.width);
}

double mean_squared_error(const Histogram& seen, const Affine& affine, const Codes& codes) {
  double sum = 0;
  for (int bin = 0; bin < Histogram::kBins; ++bin) {
    const uint64_t count = seen.counts()[static_cast<size_t>(bin)];
    if (count == 0) continue;
    const auto number = static_cast<float>(seen.middle_of(bin));
    const double error = number - number_of(code_of(number, affine, codes), affine);
    sum += static_cast<double>(count) * error * error;
  }
  return seen.total() ? sum / static_cast<double>(seen.total()) : 0;
}

Range least_error_range(const Histogram& seen, const Codes& codes, bool symmetric) {
  constexpr int kTried = 96;
  const Range all = seen.range();
  const auto error_at = [&](const Range& range) {
    return mean_squared_error(seen, affine_of(range, codes, symmetric), codes);
  };
  Range best = all;
  double least = error_at(best);
  const auto try_it = [&](const Range& range) {
    const double error = error_at(range);
    if (!(error < least)) return false;
    least = error;
    best = range;
    return true;
  };
  for (int i = 1; i < kTried; ++i) {
    const double share = 1 - 0.95 * i / kTried;
    try_it({all.lowest * share, all.highest * share});
  }
  if (symmetric) return best;
  // A range that has 0 at one end has one side to search.
  for (int round = 0; round < 3; ++round) {
    bool better = false;
    const Range from = best;
    for (int i = 0; i < kTried; ++i) {
      const double share = 1 - 0.95 * i / kTried;
      if (all.lowest < 0) better |= try_it({all.lowest * share, from.highest});
    }
    const double lowest = best.lowest;
    for (int i = 0; i < kTried; ++i) {
      const double share = 1 - 0.95 * i / kTried;
      if (all.highest > 0) better |= try_it({lowest, all.highest * share});
    }
    if (!better) break;
  }
  return best;
}

}  // namespace thaw::quantizing::int8
