#include "thaw/lift/table/sinusoid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {

namespace {

// From a first guess on; 0: none, the first entry lies within half a turn.
Angle refined(const std::vector<std::pair<double, double>>& entries, bool sine, double guess) {
  Angle angle;
  for (const auto& [x, entry] : entries) {
    const double bounded = std::clamp(entry, -1.0, 1.0);
    const double base = sine ? std::asin(bounded) : std::acos(bounded);
    const double weight = std::sqrt(1 - bounded * bounded) * x;
    if (weight <= angle.weight) continue;
    const double expected = angle.weight > 0 ? angle.step * x : guess > 0 ? guess * x : base;
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
  double above = 0, under = 0;
  for (const auto& [x, entry] : entries) {
    const double rise = sine ? x * std::cos(angle.step * x) : -x * std::sin(angle.step * x);
    above += (entry - (sine ? std::sin(angle.step * x) : std::cos(angle.step * x))) * rise;
    under += rise * rise;
  }
  if (under > 0) angle.step += above / under;
  return angle;
}

}  // namespace

Angle angle_of(const std::vector<std::pair<double, double>>& entries, bool sine) { return refined(entries, sine, 0); }

Angle angle_from_neighbours(const std::vector<std::pair<double, double>>& entries, bool sine) {
  // f(x - 1) + f(x + 1) = 2 cos(step) f(x), of sines and cosines alike.
  double above = 0, under = 0;
  for (size_t i = 1; i + 1 < entries.size(); ++i) {
    const double middle = entries[i].second;
    if (entries[i + 1].first - entries[i - 1].first != 2) continue;
    above += middle * (entries[i - 1].second + entries[i + 1].second);
    under += 2 * middle * middle;
  }
  if (under == 0 || std::abs(above) >= under) return {};
  return refined(entries, sine, std::acos(above / under));
}

double rounded_base(double base) {
  const double unit = std::pow(10, std::floor(std::log10(base)) - 1), whole = std::round(base / unit) * unit;
  return std::abs(whole - base) < 1e-4 * base ? whole : base;
}

namespace {

// A place between 0 and 1, or -1 and 1, as (of * index + from) / under + start.
struct Span {
  const char* name;
  int64_t of, from;
  bool ends;  // under: the length less 1, else the length
  double start;
};
constexpr Span kSpans[] = {{"centres from -1 to 1", 2, 1, false, -1},
                           {"ends from -1 to 1", 2, 0, true, -1},
                           {"centres from 0 to 1, doubled", 2, 1, false, 0},
                           {"ends from 0 to 1", 1, 0, true, 0},
                           {"starts from 0 to 1", 1, 0, false, 0}};

}  // namespace

std::optional<Sequence> fit_sinusoid_of_place(const View& column) {
  if (column.kind != Kind::kReal) return std::nullopt;
  const Size& n = column.length();
  for (const auto& list : column.entries)
    if (std::any_of(list.begin(), list.end(), [](double entry) { return !(std::abs(entry) <= 1 + 1e-5); }))
      return std::nullopt;
  for (const Span& span : kSpans) {
    std::vector<std::pair<double, double>> entries;
    for (size_t k = 0; k < column.traces(); ++k) {
      const auto under = static_cast<double>(span.ends ? std::max<int64_t>(n.at[k] - 1, 1) : n.at[k]);
      for (int64_t i = 0; i < n.at[k]; ++i) {
        const double x = static_cast<double>(span.of * i + span.from) / under + span.start;
        if (x > 0) entries.emplace_back(x, column.at(k, i, 0));
      }
    }
    std::sort(entries.begin(), entries.end());
    const Size steps = span.ends ? n - constant_size(1, n.at.size()) : n;
    const Formula under = span.ends ? larger(steps, Formula(1)) : Formula(steps);
    const Formula x =
        as_real(position(0) * Formula(span.of) + Formula(span.from)) / as_real(under) + real_number(span.start);
    for (const bool sine : {false, true}) {
      const Angle angle = angle_of(entries, sine);
      if (angle.weight == 0) continue;
      const Formula turned = real_number(angle.step) * x;
      const Formula formula = sine ? thaw::lifting::sine(turned) : cosine(turned);
      if (!holds(column, formula, 0, 1)) continue;
      return Sequence{fmt::format("{} of {:.6g} times {} of {}", sine ? "sin" : "cos", angle.step, span.name,
                                  dim::to_string(n.dim)),
                      formula};
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
