#include "thaw/confirm/measured_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "thaw/run/elements.h"

namespace thaw::confirm {
namespace {

constexpr double kOfNothing =
    -300;                         // dB, of an output that is 0 throughout: a number, as reports have no other infinity
constexpr int64_t kBlock = 1024;  // elements that are decoded at once

}  // namespace

double to_decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return signal == 0 ? kOfNothing : std::max(kOfNothing, 10 * std::log10(signal / noise));
}

MeasuredError measure_error(const Array& wanted, const Array& got) {
  OutputComparison error;
  const int64_t count = wanted.num_elements();
  error.elements = static_cast<uint64_t>(count);
  std::array<double, kBlock> x{}, y{};
  double signal = 0, noise = 0, product = 0, got_signal = 0;
  uint64_t compared = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    const auto size = static_cast<size_t>(std::min(kBlock, count - first));
    run::decode(wanted.dtype, wanted.bytes.data(), first, std::span(x).first(size));
    run::decode(got.dtype, got.bytes.data(), first, std::span(y).first(size));
    for (size_t i = 0; i < size; ++i) {
      if (!std::isfinite(x[i])) continue;
      if (!std::isfinite(y[i])) {
        ++error.not_finite;
        continue;
      }
      ++compared;
      const double difference = x[i] - y[i];
      error.max_abs_diff = std::max(error.max_abs_diff, std::abs(difference));
      error.max_abs_expected = std::max(error.max_abs_expected, std::abs(x[i]));
      signal += x[i] * x[i];
      noise += difference * difference;
      product += x[i] * y[i];
      got_signal += y[i] * y[i];
    }
  }
  error.sqnr_db = to_decibels(signal, noise);
  error.cosine = signal > 0 && got_signal > 0 ? product / std::sqrt(signal * got_signal) : signal == got_signal ? 1 : 0;
  return {std::move(error), signal, noise, compared};
}

}  // namespace thaw::confirm
