#include "thaw/math/rotary_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thaw::math {

double rotary_frequency(double base, double position, double count) { return std::pow(base, -position / count); }

std::vector<double> rotary_frequencies(double base, size_t count) {
  std::vector<double> frequencies;
  for (size_t j = 0; j < count; ++j)
    frequencies.push_back(rotary_frequency(base, static_cast<double>(j), static_cast<double>(count)));
  return frequencies;
}

std::vector<float> rotary_frequencies_as_trained(double base, int64_t dim, std::span<const double> factors) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(dim);
    const float wave = std::pow(static_cast<float>(base), exponent);
    frequencies.push_back(1.0F /
                          (factors.empty() ? wave : static_cast<float>(factors[static_cast<size_t>(i / 2)]) * wave));
  }
  return frequencies;
}

void scale(std::vector<float>& frequencies, const Llama3Scaling& by) {
  const auto factor = static_cast<float>(by.factor);
  for (float& frequency : frequencies) {
    const auto wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wavelength > static_cast<float>(by.length / by.low_factor)) {
      frequency /= factor;
    } else if (wavelength >= static_cast<float>(by.length / by.high_factor)) {
      const float keep = (static_cast<float>(by.length) / wavelength - static_cast<float>(by.low_factor)) /
                         static_cast<float>(by.high_factor - by.low_factor);
      frequency = (1 - keep) * frequency / factor + keep * frequency;
    }
  }
}

void scale(std::vector<float>& frequencies, const YarnScaling& by) {
  const auto dim = static_cast<double>(2 * frequencies.size());
  const auto pair_of = [&](double turns) {
    return dim * std::log(by.length / (turns * 2 * std::numbers::pi)) / (2 * std::log(by.base));
  };
  double low = pair_of(by.fast), high = pair_of(by.slow);
  if (by.is_cut) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const auto ramp = static_cast<float>(std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0));
    const float kept = frequencies[j], divided = kept / static_cast<float>(by.factor);
    frequencies[j] = divided * ramp + kept * (1 - ramp);
  }
}

double yarn_magnitude(double factor, double by) { return factor <= 1 ? 1 : 0.1 * by * std::log(factor) + 1; }

double longrope_magnitude(double factor, double length) {
  return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(length));
}

}  // namespace thaw::math
