#include "thaw/media/audio/log_mel.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include <kissfft/kissfft.hh>

namespace thaw::media {
namespace {

constexpr double kHighestHz = 8000;

// Slaney's scale: linear below 1000 Hz, logarithmic above (Auditory Toolbox, 1998).
constexpr double kLinearHz = 1000, kLinearMels = 15;
double log_step() { return std::log(6.4) / 27; }

double mels_of(double hz) {
  return hz < kLinearHz ? 3 * hz / 200 : kLinearMels + std::log(hz / kLinearHz) / log_step();
}

double hz_of(double mels) {
  return mels < kLinearMels ? 200 * mels / 3 : kLinearHz * std::exp((mels - kLinearMels) * log_step());
}

// A triangle over bins of frequency: weights of [first, first + weights.size()).
struct MelFilter {
  size_t first = 0;
  std::vector<double> weights;
};

std::vector<MelFilter> mel_filters(const AudioSettings& settings) {
  const int64_t bins = settings.fft / 2 + 1;
  const int64_t half = settings.rate / 2;  // whole, as in transformers
  const auto half_rate = static_cast<double>(half);
  const auto corner = [&](int64_t i) {
    return hz_of(mels_of(kHighestHz) * static_cast<double>(i) / static_cast<double>(settings.mels + 1));
  };
  std::vector<MelFilter> filters;
  for (int64_t m = 0; m < settings.mels; ++m) {
    const double low = corner(m), middle = corner(m + 1), high = corner(m + 2);
    MelFilter& filter = filters.emplace_back();
    for (int64_t bin = 0; bin < bins; ++bin) {
      const double hz = half_rate * static_cast<double>(bin) / static_cast<double>(bins - 1);
      const double weight = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      if (weight <= 0) continue;
      if (filter.weights.empty()) filter.first = static_cast<size_t>(bin);
      filter.weights.push_back(weight * 2 / (high - low));
    }
  }
  return filters;
}

// The signal with its ends mirrored: index -1 is 1, and the last index plus 1 is the last minus 1.
float mirrored(std::span<const float> samples, int64_t i) {
  const auto size = static_cast<int64_t>(samples.size());
  if (i < 0) i = -i;
  if (i >= size) i = 2 * (size - 1) - i;
  return samples[static_cast<size_t>(i)];
}

}  // namespace

std::vector<float> log_mel(std::span<const float> samples, const AudioSettings& settings) {
  const auto frames = static_cast<size_t>(static_cast<int64_t>(samples.size()) / settings.hop);
  const auto mels = static_cast<size_t>(settings.mels), fft = static_cast<size_t>(settings.fft);
  const std::vector<MelFilter> filters = mel_filters(settings);
  std::vector<double> window(fft), frame(fft), power(fft / 2 + 1);
  for (size_t i = 0; i < fft; ++i)
    window[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(fft));
  const kissfft<double> transform(fft / 2, false);
  std::vector<std::complex<double>> spectrum(fft / 2 + 1);

  std::vector<float> features(mels * frames);
  double loudest = -std::numeric_limits<double>::infinity();
  for (size_t t = 0; t < frames; ++t) {
    const int64_t start = static_cast<int64_t>(t) * settings.hop - settings.fft / 2;
    for (size_t i = 0; i < fft; ++i)
      frame[i] = window[i] * static_cast<double>(mirrored(samples, start + static_cast<int64_t>(i)));
    transform.transform_real(frame.data(), spectrum.data());
    // The highest bin is real too, and stands in the imaginary part of the lowest.
    power.front() = spectrum[0].real() * spectrum[0].real();
    power.back() = spectrum[0].imag() * spectrum[0].imag();
    for (size_t bin = 1; bin < fft / 2; ++bin) power[bin] = std::norm(spectrum[bin]);
    for (size_t m = 0; m < mels; ++m) {
      double sum = 0;
      for (size_t k = 0; k < filters[m].weights.size(); ++k) sum += filters[m].weights[k] * power[filters[m].first + k];
      const double level = std::log10(std::max(sum, 1e-10));
      loudest = std::max(loudest, level);
      features[m * frames + t] = static_cast<float>(level);
    }
  }
  const auto floor = static_cast<float>(loudest - 8);
  for (float& feature : features) feature = (std::max(feature, floor) + 4) / 4;
  return features;
}

}  // namespace thaw::media
