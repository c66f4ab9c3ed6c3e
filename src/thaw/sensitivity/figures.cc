#include "thaw/sensitivity/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "thaw/run/elements.h"

namespace thaw::measuring {
namespace {

constexpr int64_t kDecodedAtOnce = 4096;  // elements that are decoded at a time

struct Sums {
  double noise = 0, signal = 0, other_signal = 0, product = 0;
  bool is_broken = false;

  void add(std::span<const double> x, std::span<const double> y) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      if (!std::isfinite(y[i])) {
        is_broken = true;
        return;
      }
      noise += (x[i] - y[i]) * (x[i] - y[i]);
      signal += x[i] * x[i];
      other_signal += y[i] * y[i];
      product += x[i] * y[i];
    }
  }
};

double log_sum(std::span<const double> row, double largest) {
  double sum = 0;
  for (const double number : row) sum += std::exp(number - largest);
  return largest + std::log(sum);
}

// sum softmax(x) (log softmax(x) - log softmax(y)); entries that are -inf in both, as masks leave them, add nothing.
double divergence(std::span<const double> x, std::span<const double> y) {
  const double x_log = log_sum(x, *std::ranges::max_element(x)), y_log = log_sum(y, *std::ranges::max_element(y));
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = std::exp(x[i] - x_log);
    if (p > 0) sum += p * ((x[i] - x_log) - (y[i] - y_log));
  }
  return std::max(0.0, sum);
}

}  // namespace

std::optional<ErrorFigures> figures_of(const Array& wanted, const Array& got) {
  if (wanted.dims != got.dims) return std::nullopt;
  const int64_t count = wanted.num_elements();
  if (count == 0) return ErrorFigures{};
  const int64_t width = wanted.dims.empty() ? 1 : std::max<int64_t>(1, wanted.dims.back());
  const int64_t rows = std::max<int64_t>(1, kDecodedAtOnce / width);
  std::vector<double> x, y;
  Sums sums;
  double kl = 0;
  for (int64_t first = 0; first < count; first += rows * width) {
    const auto size = static_cast<size_t>(std::min(rows * width, count - first));
    x.resize(size);
    y.resize(size);
    run::decode(wanted.dtype, wanted.bytes.data(), first, x);
    run::decode(got.dtype, got.bytes.data(), first, y);
    sums.add(x, y);
    if (sums.is_broken) return std::nullopt;
    const auto step = static_cast<size_t>(width);
    for (size_t row = 0; row < size; row += step)
      kl += divergence(std::span(x).subspan(row, step), std::span(y).subspan(row, step));
  }
  ErrorFigures figures;
  figures.mse = sums.noise / static_cast<double>(count);
  figures.noise = sums.noise == 0    ? 0
                  : sums.signal == 0 ? std::numeric_limits<double>::infinity()
                                     : sums.noise / sums.signal;
  // 1 - cos from the difference of the directions: |a - b|^2 / 2 for unit vectors, which loses nothing where they are close.
  const double lengths = std::sqrt(sums.signal) * std::sqrt(sums.other_signal);
  if (sums.noise == 0) {
    figures.cosine = 0;
  } else if (lengths == 0) {
    figures.cosine = 1;
  } else {
    const double a = std::sqrt(sums.signal), b = std::sqrt(sums.other_signal);
    figures.cosine = std::max(0.0, (sums.noise - (a - b) * (a - b)) / (2 * lengths));
  }
  figures.kl = kl / (static_cast<double>(count) / static_cast<double>(width));
  return figures;
}

std::optional<ErrorFigures> figures_of(const Arrays& wanted, const Arrays& got) {
  std::vector<ErrorFigures> outputs;
  for (const auto& [name, array] : wanted) {
    const auto at = got.find(name);
    if (at == got.end()) return std::nullopt;
    const std::optional<ErrorFigures> one = figures_of(array, at->second);
    if (!one) return std::nullopt;
    if (array.num_elements() > 0) outputs.push_back(*one);
  }
  return mean_of(outputs);
}

ErrorFigures mean_of(const std::vector<ErrorFigures>& samples) {
  ErrorFigures sum;
  for (const ErrorFigures& sample : samples) {
    sum.mse += sample.mse;
    sum.cosine += sample.cosine;
    sum.kl += sample.kl;
    sum.noise += sample.noise;
  }
  const double count = std::max<double>(1, static_cast<double>(samples.size()));
  return {sum.mse / count, sum.cosine / count, sum.kl / count, sum.noise / count};
}

double mean_figure(const std::vector<ErrorFigures>& samples, ErrorMetric metric) {
  return figure_of(mean_of(samples), metric);
}

}  // namespace thaw::measuring

namespace thaw {
namespace {

constexpr int kResamples = 1000;
constexpr double kTail = 0.025;  // on each side of the interval

double decibels_of(double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : -10 * std::log10(noise);
}

}  // namespace

double figure_of(const ErrorFigures& figures, ErrorMetric metric) {
  switch (metric) {
    case ErrorMetric::kCosine:
      return figures.cosine;
    case ErrorMetric::kKl:
      return figures.kl;
    case ErrorMetric::kSqnr:
      return decibels_of(figures.noise);
    default:
      return figures.mse;
  }
}

Estimate estimate(const std::vector<ErrorFigures>& samples, ErrorMetric metric, uint64_t seed) {
  if (samples.empty()) return {};
  std::vector<double> figures;
  for (const ErrorFigures& sample : samples)
    figures.push_back(metric == ErrorMetric::kSqnr ? sample.noise : figure_of(sample, metric));
  const auto mean_of = [&](const auto& index) {
    double sum = 0;
    for (size_t i = 0; i < figures.size(); ++i) sum += figures[index(i)];
    return sum / static_cast<double>(figures.size());
  };
  std::mt19937_64 random(seed);
  std::vector<double> means;
  for (int i = 0; i < kResamples && figures.size() > 1; ++i)
    means.push_back(mean_of([&](size_t) { return random() % figures.size(); }));
  std::ranges::sort(means);
  const double mean = mean_of([](size_t i) { return i; });
  const auto at = [&](double share) {
    return means.empty() ? mean : means[static_cast<size_t>(share * static_cast<double>(means.size() - 1))];
  };
  const Estimate found{mean, at(kTail), at(1 - kTail)};
  if (metric != ErrorMetric::kSqnr) return found;
  return {decibels_of(found.mean), decibels_of(found.high), decibels_of(found.low)};
}

}  // namespace thaw
