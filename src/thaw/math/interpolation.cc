#include "thaw/math/interpolation.h"

#include <numbers>

namespace thaw::math {
namespace {

double sinc(double x) { return x == 0 ? 1 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi); }

// As both libraries round: toward zero once a half is added.
int64_t truncated(double value) { return static_cast<int64_t>(value); }

}  // namespace

double box_weight(double distance) { return distance > -0.5 && distance <= 0.5 ? 1 : 0; }

double lanczos_weight(double distance) {
  return distance >= -3 && distance < 3 ? sinc(distance) * sinc(distance / 3) : 0;
}

std::vector<Tap> taps_between(int64_t low, double part, int64_t size, const Kernel& kernel) {
  const auto reach = static_cast<int64_t>(kernel.radius);
  std::vector<Tap> taps;
  for (int64_t i = 1 - reach; i <= reach; ++i)
    taps.push_back({std::clamp<int64_t>(low + i, 0, size - 1), kernel.weight(static_cast<double>(i) - part)});
  return taps;
}

std::vector<Tap> taps_around(double center, double widened, int64_t size, const Kernel& kernel) {
  const double support = kernel.radius * widened;
  const int64_t first = std::max<int64_t>(truncated(center - support + 0.5), 0);
  const int64_t past = std::min(truncated(center + support + 0.5), size);
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t i = first; i < past; ++i) {
    taps.push_back({i, kernel.weight((static_cast<double>(i) - center + 0.5) * (1.0 / widened))});
    sum += taps.back().weight;
  }
  for (Tap& tap : taps)
    if (sum != 0) tap.weight /= sum;
  return taps;
}

}  // namespace thaw::math
