#include "thaw/lift/table/amplitude.h"

#include <algorithm>
#include <cmath>

namespace thaw::lifting {
namespace {

// a cos(step x) + b sin(step x), of x = 0, 1, 2, …
struct Wave {
  double step = 0, a = 0, b = 0;
  double at(double x) const { return a * std::cos(step * x) + b * std::sin(step * x); }
};

// What a and b fit best.
void fit_height(Wave& wave, const std::vector<double>& entries) {
  double cc = 0, cs = 0, ss = 0, ce = 0, se = 0;
  for (size_t x = 0; x < entries.size(); ++x) {
    const double c = std::cos(wave.step * static_cast<double>(x)), s = std::sin(wave.step * static_cast<double>(x));
    cc += c * c;
    cs += c * s;
    ss += s * s;
    ce += c * entries[x];
    se += s * entries[x];
  }
  const double spread = cc * ss - cs * cs;
  if (spread == 0) return;
  wave.a = (ce * ss - se * cs) / spread;
  wave.b = (se * cc - ce * cs) / spread;
}

}  // namespace

std::optional<double> amplitude_of(const View& list) {
  constexpr size_t kFewestRows = 8;
  constexpr int64_t kFewestColumns = 3;
  if (list.kind != Kind::kReal || list.width < kFewestColumns || list.growing.size() != 1) return std::nullopt;
  const std::vector<int64_t>& lengths = list.length().at;
  const auto longest = static_cast<size_t>(std::ranges::max_element(lengths) - lengths.begin());
  std::vector<double> entries;
  for (int64_t row = 0; row < lengths[longest]; ++row) entries.push_back(list.at(longest, row, 0));
  if (entries.size() < kFewestRows) return std::nullopt;
  // f(x - 1) + f(x + 1) = 2 cos(step) f(x)
  double above = 0, under = 0;
  for (size_t x = 1; x + 1 < entries.size(); ++x) {
    above += entries[x] * (entries[x - 1] + entries[x + 1]);
    under += 2 * entries[x] * entries[x];
  }
  if (under == 0 || std::abs(above) >= under) return std::nullopt;
  Wave wave{.step = std::acos(above / under)};
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    fit_height(wave, entries);
    double up = 0, down = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto x = static_cast<double>(i);
      const double rise = x * (wave.b * std::cos(wave.step * x) - wave.a * std::sin(wave.step * x));
      up += (entries[i] - wave.at(x)) * rise;
      down += rise * rise;
    }
    if (down > 0) wave.step += up / down;
  }
  fit_height(wave, entries);
  // An angle was rounded to float32 before its cosine was taken.
  constexpr double kRounding = 1.2e-7;
  const double height = std::hypot(wave.a, wave.b);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto x = static_cast<double>(i);
    if (std::abs(entries[i] - wave.at(x)) > height * (list.tolerance + kRounding * wave.step * x)) return std::nullopt;
  }
  if (std::abs(height - 1) <= list.tolerance) return std::nullopt;
  return static_cast<double>(static_cast<float>(height));
}

}  // namespace thaw::lifting
