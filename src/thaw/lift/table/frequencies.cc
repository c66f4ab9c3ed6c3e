#include "thaw/lift/table/frequencies.h"

#include <algorithm>
#include <cmath>

#include "thaw/math/rotary_frequencies.h"

namespace thaw::lifting {
namespace {

constexpr size_t kFewestFrequencies = 3;  // frequencies that speak for a base, or for a factor

// A factor that people write: a whole number or a half.
double rounded_factor(double factor) {
  const double whole = std::round(factor * 2) / 2;
  return std::abs(whole - factor) < 1e-3 * factor ? whole : 0;
}

}  // namespace

double rounded_base(double base) {
  const double unit = std::pow(10, std::floor(std::log10(base)) - 1), whole = std::round(base / unit) * unit;
  return std::abs(whole - base) < 1e-4 * base ? whole : base;
}

bool is_written_base(double base) { return std::isfinite(base) && base > 1 && rounded_base(base * (1 + 5e-5)) == base; }

bool scale_slow_ones(std::vector<Frequency>& frequencies) {
  const auto count = static_cast<double>(frequencies.size());
  std::vector<double> powers;
  const auto gives = [&](size_t j, double factor) {
    return std::abs(frequencies[j].step - powers[j] / factor) <= frequencies[j].within;
  };
  for (size_t told_by = std::min<size_t>(frequencies.size() / 2, 16); told_by > 0; --told_by) {
    const double base = rounded_base(std::pow(frequencies[told_by].step, -count / static_cast<double>(told_by)));
    if (!is_written_base(base)) continue;
    powers = math::rotary_frequencies(base, frequencies.size());
    size_t fast = 0;
    while (fast < powers.size() && gives(fast, 1)) ++fast;
    if (fast < kFewestFrequencies || fast + kFewestFrequencies > powers.size()) continue;
    for (size_t slow = fast; slow + kFewestFrequencies <= powers.size(); ++slow) {
      const double factor = rounded_factor(powers[slow] / frequencies[slow].step);
      if (factor <= 1) continue;
      size_t end = slow;
      while (end < powers.size() && gives(end, factor)) ++end;
      if (end < powers.size()) continue;
      for (size_t j = 0; j < powers.size(); ++j) {
        if (j < fast) frequencies[j] = {powers[j], 0};
        if (j >= slow) frequencies[j] = {powers[j] / factor, 0};
      }
      return true;
    }
  }
  return false;
}

bool take_what_is_known(std::vector<Frequency>& frequencies, KnownFrequencies& known) {
  bool taken = false;
  for (const std::vector<Frequency>& other : known.lists) {
    const bool same = std::ranges::equal(frequencies, other, [](const Frequency& a, const Frequency& b) {
      return std::abs(a.step - b.step) <= a.within + b.within;
    });
    for (size_t j = 0; same && j < other.size(); ++j)
      if (other[j].within < frequencies[j].within) frequencies[j] = other[j];
    taken |= same;
  }
  known.lists.push_back(frequencies);
  known.badly |= std::ranges::any_of(frequencies, [](const Frequency& f) { return f.within > 0; });
  return taken;
}

}  // namespace thaw::lifting
