#include "thaw/confirm/output_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "thaw/run/elements.h"

namespace thaw::confirm {
namespace {

constexpr int64_t kBlock = 1024;

double to_decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  if (signal == 0) return -std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

}  // namespace

OutputError output_error(const std::string& output, const Array& wanted, const Array& got) {
  OutputError error{.sizes = {}, .output = output};
  const int64_t count = wanted.num_elements();
  error.elements = static_cast<uint64_t>(count);
  std::array<double, kBlock> x{}, y{};
  double signal = 0, noise = 0, product = 0, got_signal = 0;
  for (int64_t first = 0; first < count; first += kBlock) {
    const auto size = static_cast<size_t>(std::min(kBlock, count - first));
    run::decode(wanted.dtype, wanted.bytes.data(), first, std::span(x).first(size));
    run::decode(got.dtype, got.bytes.data(), first, std::span(y).first(size));
    for (size_t i = 0; i < size; ++i) {
      if (!std::isfinite(x[i])) continue;
      if (!std::isfinite(y[i])) {
        ++error.broken;
        continue;
      }
      const double difference = x[i] - y[i];
      error.max_abs = std::max(error.max_abs, std::abs(difference));
      error.largest = std::max(error.largest, std::abs(x[i]));
      signal += x[i] * x[i];
      noise += difference * difference;
      product += x[i] * y[i];
      got_signal += y[i] * y[i];
    }
  }
  error.sqnr = to_decibels(signal, noise);
  error.cosine = signal > 0 && got_signal > 0 ? product / std::sqrt(signal * got_signal) : signal == got_signal ? 1 : 0;
  return error;
}

}  // namespace thaw::confirm
