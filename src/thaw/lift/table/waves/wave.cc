#include "thaw/lift/table/waves/wave.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace thaw::lifting {
namespace {

constexpr size_t kMostFree = 5;

// 2 cos(step) f(x) = f(x - 1) + f(x + 1), of sines and cosines alike.
std::optional<double> step_of_neighbours(std::span<const Sample> samples) {
  double above = 0, under = 0;
  for (size_t i = 1; i + 1 < samples.size(); ++i) {
    const double middle = samples[i].entry;
    if (samples[i + 1].x - samples[i - 1].x != 2) continue;
    above += middle * (samples[i - 1].entry + samples[i + 1].entry);
    under += 2 * middle * middle;
  }
  if (under == 0 || std::abs(above) >= under) return std::nullopt;
  return std::acos(above / under);
}

}  // namespace

double Wave::at(double x, double y) const {
  const double angle = step * x + down * y;
  return a * std::cos(angle) + b * std::sin(angle) + raised;
}

std::optional<double> refine(Wave& wave, std::span<const Sample> samples, unsigned free, int rounds) {
  constexpr double kOpen = 1e-12;
  std::vector<double*> found;
  if ((free & kStep) != 0) found.push_back(&wave.step);
  if ((free & kDown) != 0) found.push_back(&wave.down);
  if ((free & kHeights) != 0) found.insert(found.end(), {&wave.a, &wave.b});
  if ((free & kRaised) != 0) found.push_back(&wave.raised);
  const size_t n = found.size();
  double grown = 0;
  for (int round = 0; round < rounds; ++round) {
    // The normal equations, what they are to be, and 1 along the diagonal, which becomes their inverse.
    std::array<std::array<double, 2 * kMostFree + 1>, kMostFree> rows{};
    for (const Sample& sample : samples) {
      const double angle = wave.step * sample.x + wave.down * sample.y, c = std::cos(angle), s = std::sin(angle);
      const double slope = wave.b * c - wave.a * s, left = sample.entry - wave.at(sample.x, sample.y);
      std::array<double, kMostFree> rise{};
      size_t at = 0;
      if ((free & kStep) != 0) rise[at++] = sample.x * slope;
      if ((free & kDown) != 0) rise[at++] = sample.y * slope;
      if ((free & kHeights) != 0) {
        rise[at++] = c;
        rise[at++] = s;
      }
      if ((free & kRaised) != 0) rise[at++] = 1;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) rows[i][j] += rise[i] * rise[j];
        rows[i][n] += left * rise[i];
      }
    }
    for (size_t i = 0; i < n; ++i) rows[i][n + 1 + i] = 1;
    const auto whole = rows;
    for (size_t i = 0; i < n; ++i) {
      const double pivot = rows[i][i];
      if (!(pivot > kOpen * whole[i][i])) return std::nullopt;
      for (double& entry : rows[i]) entry /= pivot;
      for (size_t other = 0; other < n; ++other) {
        const double times = rows[other][i];
        if (other == i || times == 0) continue;
        for (size_t j = 0; j < rows[i].size(); ++j) rows[other][j] -= times * rows[i][j];
      }
    }
    grown = 0;
    for (size_t i = 0; i < n; ++i) {
      *found[i] += rows[i][n];
      grown = std::max(grown, std::sqrt(rows[i][n + 1 + i]));
    }
  }
  return grown;
}

// 0: no guess, the first entry lies within half a turn.
Angle angle_near(const std::vector<Sample>& samples, bool sine, double guess) {
  Angle angle;
  for (const Sample& sample : samples) {
    const double bounded = std::clamp(sample.entry, -1.0, 1.0), x = sample.x;
    const double base = sine ? std::asin(bounded) : std::acos(bounded);
    const double weight = std::sqrt(1 - bounded * bounded) * x;
    if (weight <= angle.weight) continue;
    const double expected = angle.weight > 0 ? angle.step * x : guess != 0 ? guess * x : base;
    // All angles with that sine or cosine: the nearest to what is expected.
    double best = std::numeric_limits<double>::infinity();
    for (const double candidate : {base, sine ? std::numbers::pi - base : -base}) {
      const double turned =
          candidate + 2 * std::numbers::pi * std::round((expected - candidate) / (2 * std::numbers::pi));
      if (std::abs(turned - expected) < std::abs(best - expected)) best = turned;
    }
    angle = {best / x, weight};
  }
  // That entry was rounded; all of them together tell more.
  Wave wave = wave_of(sine, angle.step);
  refine(wave, samples, kStep, 1);
  return {wave.step, angle.weight};
}

Angle angle_of(const std::vector<Sample>& samples, bool sine) { return angle_near(samples, sine, 0); }

std::vector<Angle> angles_near(const std::vector<Sample>& samples, bool sine, int most_turns) {
  constexpr size_t kFew = 32;
  constexpr double kNear = 1e-4, kSame = 1e-6;
  std::vector<Angle> angles;
  if (samples.empty()) return angles;
  // A few samples tell most of what is none.
  std::vector<Sample> few;
  for (size_t i = 0; i < samples.size(); i += samples.size() / kFew + 1) few.push_back(samples[i]);
  if (few.back().x != samples.back().x) few.push_back(samples.back());
  const auto is_near = [&](const Wave& wave, const std::vector<Sample>& all) {
    return std::ranges::all_of(all, [&](const Sample& e) { return std::abs(wave.at(e.x) - e.entry) <= kNear; });
  };
  // What the first sample leaves open of the angle at the next ones is little, where it does not stand at the top of the wave.
  constexpr double kSteep = 0.1, kOpen = 1e-5, kNext = 8;
  const double first_x = samples.front().x, height = std::clamp(samples.front().entry, -1.0, 1.0);
  const bool is_steep = 1 - height * height > kSteep * kSteep;
  const auto may_be = [&](const Sample& sample, double guess) {
    if (!is_steep || sample.x > kNext * first_x) return true;
    const double angle = guess * sample.x;
    return std::abs((sine ? std::sin(angle) : std::cos(angle)) - sample.entry) <= kNear + kOpen * sample.x / first_x;
  };
  const auto add = [&](double guess) {
    if (!std::ranges::all_of(few, [&](const Sample& sample) { return may_be(sample, guess); })) return;
    const Angle angle = angle_near(few, sine, guess);
    Wave wave = wave_of(sine, angle.step);
    if (angle.weight == 0 || !is_near(wave, few)) return;
    refine(wave, samples, kStep, 1);
    const auto is_it = [&](const Angle& known) {
      return std::abs(known.step - wave.step) <= kSame * std::abs(wave.step);
    };
    if (std::ranges::none_of(angles, is_it) && is_near(wave, samples)) angles.push_back({wave.step, angle.weight});
  };
  const double base = sine ? std::asin(height) : std::acos(height);
  for (int turns = sine ? -most_turns : 0; turns <= most_turns; ++turns)
    for (const double first : {base, sine ? std::numbers::pi - base : 2 * std::numbers::pi - base})
      add((first + 2 * std::numbers::pi * turns) / first_x);
  return angles;
}

Angle angle_from_neighbours(const std::vector<Sample>& samples, bool sine) {
  const auto step = step_of_neighbours(samples);
  return step ? angle_near(samples, sine, *step) : Angle();
}

std::optional<double> amplitude_of(const View& list) {
  constexpr size_t kFewestRows = 8;
  constexpr int64_t kFewestColumns = 3;
  constexpr int kRounds = 4;
  if (list.kind != Kind::kReal || list.width < kFewestColumns || list.growing.size() != 1) return std::nullopt;
  const std::vector<int64_t>& lengths = list.length().at;
  const auto longest = static_cast<size_t>(std::ranges::max_element(lengths) - lengths.begin());
  std::vector<Sample> samples;
  for (int64_t row = 0; row < lengths[longest]; ++row)
    samples.push_back({static_cast<double>(row), list.at(longest, row, 0)});
  const auto step = samples.size() < kFewestRows ? std::nullopt : step_of_neighbours(samples);
  if (!step) return std::nullopt;
  Wave wave = wave_of(false, *step);
  if (!refine(wave, samples, kHeights, 1) || !refine(wave, samples, kStep | kHeights, kRounds)) return std::nullopt;
  const double height = std::hypot(wave.a, wave.b);
  for (const Sample& sample : samples)
    if (!is_near_wave(list, sample.entry / height, wave.at(sample.x) / height, wave.step * sample.x))
      return std::nullopt;
  if (std::abs(height - 1) <= list.tolerance) return std::nullopt;
  return static_cast<double>(static_cast<float>(height));
}

double mean_square_of(const Wave& wave, std::span<const Sample> samples) {
  double sum = 0;
  for (const Sample& sample : samples) sum += std::pow(sample.entry - wave.at(sample.x, sample.y), 2);
  return sum / static_cast<double>(samples.size());
}

std::optional<Wave> raised_wave_of(std::span<const Sample> samples, bool sine) {
  constexpr double kSmallest = 1e-4, kLargest = 7, kRatio = 1.03;  // steps are tried in proportion
  constexpr int kRounds = 12;
  Wave best;
  double least = std::numeric_limits<double>::infinity();
  for (double step = kSmallest; step < kLargest; step *= kRatio) {
    Wave wave = wave_of(sine, step);
    refine(wave, samples, kRaised, 1);
    const double left = mean_square_of(wave, samples);
    if (left < least) best = wave;
    least = std::min(least, left);
  }
  refine(best, samples, kStep | kRaised, kRounds);
  return std::abs(best.step) <= kLargest * kRatio ? std::optional(best) : std::nullopt;
}

bool is_near_wave(const View& view, double entry, double of_wave, double angle) {
  constexpr double kRounding = 1.2e-7;
  return std::abs(entry - of_wave) <= view.tolerance + kRounding * std::abs(angle);
}

bool may_be_raised_wave(const View& column) {
  constexpr double kNear = 1e-4;  // of an entry; a sum is off by four of these at most
  constexpr int64_t kFewestSums = 3;
  const std::vector<int64_t>& lengths = column.length().at;
  const auto longest = static_cast<size_t>(std::ranges::max_element(lengths) - lengths.begin());
  const std::vector<double>& f = column.entries[longest];
  const auto count = static_cast<double>(f.size()) - 2;
  if (count < kFewestSums) return true;
  double largest = 1, mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  const auto neighbours = [&](size_t i) { return f[i - 1] + f[i + 1]; };
  for (size_t i = 1; i + 1 < f.size(); ++i) {
    mean_x += f[i] / count;
    mean_y += neighbours(i) / count;
    largest = std::max(largest, std::abs(f[i]));
  }
  for (size_t i = 1; i + 1 < f.size(); ++i) {
    const double x = f[i] - mean_x, y = neighbours(i) - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const double left = xx > 0 ? yy - xy * xy / xx : yy, near = 4 * std::max(kNear, column.tolerance) * largest;
  return left <= count * near * near;
}

bool has_slow_wave(const View& view) {
  constexpr int64_t kFewestWaves = 2;
  constexpr double kFlat = 10;  // tolerances
  if (view.kind != Kind::kReal) return false;
  int64_t waves = 0, flat = 0;
  for (int64_t c = 0; c < view.width; ++c) {
    const View column = column_of(view, c);
    double lowest = 1, highest = 1;
    bool begins_at_one = true;
    for (const std::vector<double>& entries : column.entries) {
      if (entries.empty()) continue;
      begins_at_one &= column.close(entries.front(), 1);
      const auto [low, high] = std::ranges::minmax(entries);
      lowest = std::min(lowest, low);
      highest = std::max(highest, high);
    }
    if (!begins_at_one || lowest < -1 - view.tolerance || highest > 1 + view.tolerance) continue;
    const bool is_flat = lowest >= 1 - kFlat * view.tolerance;
    ++(is_flat ? flat : waves);
  }
  return flat > 0 && waves >= kFewestWaves;
}

bool are_waves(const View& view) {
  constexpr double kHighest = 1 + 1e-5;
  return std::ranges::all_of(view.entries, [](const auto& list) {
    return std::ranges::all_of(list, [](double entry) { return std::abs(entry) <= kHighest; });
  });
}

}  // namespace thaw::lifting
