#include "thaw/lift/table/waves/frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "thaw/math/rotary_frequencies.h"

namespace thaw::lifting {
namespace {

constexpr size_t kFewestFrequencies = 3;  // frequencies that speak for a base, or for a factor

// A factor that people write: a whole number or a half.
double rounded_factor(double factor) {
  const double whole = std::round(factor * 2) / 2;
  return std::abs(whole - factor) < 1e-3 * factor ? whole : 0;
}

// A number that people write before powers: of two digits, or some quarters of a turn.
double rounded_first(double first) {
  constexpr double kNear = 1e-5, kQuarter = std::numbers::pi / 2, kMostQuarters = 64;
  const double quarters = std::round(first / kQuarter);
  for (const double written :
       {rounded_base(first), quarters >= 1 && quarters <= kMostQuarters ? quarters * kQuarter : 0})
    if (std::abs(written - first) <= kNear * first) return written;
  return first;
}

}  // namespace

void LogLine::add(double x, const KnownStep& known) {
  const double weight = std::pow(known.weight * known.step, 2), y = std::log(known.step);
  sum_ += weight;
  sum_x_ += weight * x;
  sum_y_ += weight * y;
  sum_xx_ += weight * x * x;
  sum_xy_ += weight * x * y;
}

double LogLine::error_at(double x) const { return std::sqrt((sum_xx_ - 2 * x * sum_x_ + x * x * sum_) / spread()); }

double Family::at(size_t column) const {
  return column < width ? first * math::rotary_frequency(base, static_cast<double>(column / times % count),
                                                         static_cast<double>(count))
                        : 0;
}

std::vector<Family> possible_families(const std::vector<KnownStep>& columns) {
  constexpr size_t kFewest = 3;
  std::vector<Family> found;
  const auto add = [&](size_t count, size_t times, size_t width) {
    LogLine line;
    std::set<size_t> known;
    for (size_t j = 0; j < width; ++j) {
      if (columns[j].weight == 0) continue;
      if (columns[j].step <= 0) return;
      known.insert(j / times % count);
      line.add(static_cast<double>(j / times % count), columns[j]);
    }
    if (known.size() < kFewest || line.spread() <= 0) return;
    const double base = std::exp(-line.slope() * static_cast<double>(count)), rounded = rounded_base(base);
    if (!is_written_base(rounded)) return;
    // The line through the powers themselves, where the base is known.
    double sum = 0, above = 0;
    for (size_t j = 0; j < width; ++j) {
      if (columns[j].weight == 0) continue;
      const double power = math::rotary_frequency(rounded, static_cast<double>(j / times % count),
                                                  static_cast<double>(count)),
                   weight = std::pow(columns[j].weight * columns[j].step, 2);
      sum += weight;
      above += weight * std::log(columns[j].step / power);
    }
    found.push_back({rounded_first(std::exp(above / sum)), rounded, count, times, width});
  };
  size_t turning = 0;  // up to the last that does
  for (size_t j = 0; j < columns.size(); ++j)
    if (columns[j].weight > 0) turning = j + 1;
  for (size_t width = columns.size(); width >= std::max<size_t>(turning, 1); --width) {
    add(width, 1, width);
    if (width % 2 != 0) continue;
    add(width / 2, 1, width);
    add(width / 2, 2, width);
  }
  return found;
}

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
