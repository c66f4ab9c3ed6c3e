// Cosines and sines of places between two ends, whatever the length.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/wave.h"

namespace thaw::lifting {
namespace {

// A place between 0 and 1, or -1 and 1, as (of * index + from) / (under + more) + start.
struct Span {
  const char* name;
  int64_t of, from;
  bool ends;  // under: the length less 1, else the length
  double start;
  double more = 0;  // so that nothing is divided by 0, in float32
};
constexpr double kAlmostNone = 1e-6;  // of DETR and its kin
constexpr Span kSpans[] = {{"centres from -1 to 1", 2, 1, false, -1},
                           {"ends from -1 to 1", 2, 0, true, -1},
                           {"centres from 0 to 1, doubled", 2, 1, false, 0},
                           {"ends from 0 to 1", 1, 0, true, 0},
                           {"starts from 0 to 1", 1, 0, false, 0},
                           {"counts from 0 to 1", 1, 1, false, 0},
                           {"centres from 0 to almost 1, doubled", 2, 1, false, 0, kAlmostNone},
                           {"counts from 0 to almost 1", 1, 1, false, 0, kAlmostNone}};

double under_of(const Span& span, int64_t n) {
  const auto under = static_cast<float>(span.ends ? std::max<int64_t>(n - 1, 1) : n);
  return under + static_cast<float>(span.more);
}

// By places, rising from above 0.
std::vector<Sample> samples_at(const View& column, const Span& span) {
  std::vector<Sample> samples;
  const Size& n = column.length();
  for (size_t k = 0; k < column.traces(); ++k) {
    const double under = under_of(span, n.at[k]);
    for (int64_t i = 0; i < n.at[k]; ++i) {
      const double x = static_cast<double>(span.of * i + span.from) / under + span.start;
      if (x > 0) samples.push_back({x, column.at(k, i, 0)});
    }
  }
  std::ranges::sort(samples, {}, [](const Sample& sample) { return std::pair(sample.x, sample.entry); });
  return samples;
}

Formula place_formula(const Span& span, const Size& n) {
  const Size steps = span.ends ? n - constant_size(1, n.at.size()) : n;
  Formula under = as_real(span.ends ? larger(steps, Formula(1)) : Formula(steps));
  if (span.more != 0) under = in_single(under + real_number(span.more));
  return as_real(position(0) * Formula(span.of) + Formula(span.from)) / under + real_number(span.start);
}

Formula wave_formula(const Wave& wave, bool is_sine, const Formula& place) {
  const Formula turned = real_number(wave.step) * place;
  return is_sine ? sine(turned) : cosine(turned);
}

// Whether a slower wave of a row or a column may give the same entries: where so many turns are more than a half from place to place in a trace
// that shows them, and where one trace alone does.
bool may_be_slower(const View& column, const Span& span, double turns) {
  constexpr double kHalf = 0.5 + 1e-4;
  constexpr int kFewest = 2;
  int shown = 0;
  for (size_t k = 0; k < column.traces(); ++k) {
    const std::vector<double>& entries = column.entries[k];
    const auto differs = [&](double entry) { return !column.close(entry, entries.front()); };
    if (std::ranges::none_of(entries, differs)) continue;
    if (turns / under_of(span, column.length().at[k]) > kHalf) return true;
    ++shown;
  }
  return shown < kFewest;
}

// Whether a wave that does not turn much more often gives the same entries: one of as many turns less than the common multiple of the lengths
// does, in each trace.
bool may_be_faster(const View& column, double turns) {
  constexpr double kPlainer = 3;
  constexpr int64_t kLargest = int64_t{1} << 31;
  int64_t multiple = 1;
  for (const int64_t n : column.length().at)
    if (multiple < kLargest && n > 0 && n < kLargest) multiple = std::lcm(multiple, n);
  return static_cast<double>(multiple) < kPlainer * turns;
}

}  // namespace

std::optional<Generated> fit_sinusoid_of_place(const Given& given) {
  const View& column = given.view;
  const Size& n = column.length();
  if (!are_waves(column) || !may_be_raised_wave(column)) return std::nullopt;
  for (const Span& span : kSpans) {
    const std::vector<Sample> samples = samples_at(column, span);
    for (const bool is_sine : {false, true}) {
      std::vector<Angle> angles = faster_angles_of(samples, is_sine);
      angles.insert(angles.begin(), angle_of(samples, is_sine));
      for (const Angle& angle : angles) {
        if (angle.weight == 0) continue;
        const Wave wave = wave_of(is_sine, angle.step);
        auto fit = checked(column, wave_formula(wave, is_sine, place_formula(span, n)),
                           fmt::format("{} of {:.6g} times {} of {}", is_sine ? "sin" : "cos", wave.step, span.name,
                                       dim::to_string(n.dim)));
        if (!fit) continue;
        fit->turns = std::abs(wave.step) * static_cast<double>(span.of) / (2 * std::numbers::pi);
        fit->may_be_slower = may_be_slower(column, span, fit->turns);
        if (fit->may_be_slower && may_be_faster(column, fit->turns)) continue;
        return fit;
      }
    }
  }
  return std::nullopt;
}

std::optional<Generated> fit_raised_sinusoid_of_place(const Given& given) {
  constexpr size_t kFewest = 6, kMost = 24;  // entries that are looked at
  constexpr double kNear = 1e-5;
  const View& column = given.view;
  const Size& n = column.length();
  if (!may_be_raised_wave(column)) return std::nullopt;
  for (const Span& span : kSpans) {
    const std::vector<Sample> all = samples_at(column, span);
    std::vector<Sample> some;
    for (size_t i = 0; i < all.size(); i += all.size() / kMost + 1) some.push_back(all[i]);
    if (some.size() < kFewest) continue;
    for (const bool is_sine : {true, false}) {
      const Wave wave = raised_wave_of(some, is_sine);
      if (mean_square_of(wave, some) > kNear * kNear) continue;
      if (auto fit = checked(column, wave_formula(wave, is_sine, place_formula(span, n)) + real_number(wave.raised),
                             fmt::format("{:.6g} + {} of {:.6g} times {} of {}", wave.raised, is_sine ? "sin" : "cos",
                                         wave.step, span.name, dim::to_string(n.dim))))
        return fit;
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
