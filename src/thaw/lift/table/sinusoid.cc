#include "thaw/lift/table/sinusoid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {

// 0: no guess, the first entry lies within half a turn.
Angle angle_near(const std::vector<std::pair<double, double>>& entries, bool sine, double guess) {
  Angle angle;
  for (const auto& [x, entry] : entries) {
    const double bounded = std::clamp(entry, -1.0, 1.0);
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
  double above = 0, under = 0;
  for (const auto& [x, entry] : entries) {
    const double rise = sine ? x * std::cos(angle.step * x) : -x * std::sin(angle.step * x);
    above += (entry - (sine ? std::sin(angle.step * x) : std::cos(angle.step * x))) * rise;
    under += rise * rise;
  }
  if (under > 0) angle.step += above / under;
  return angle;
}

Angle angle_of(const std::vector<std::pair<double, double>>& entries, bool sine) {
  return angle_near(entries, sine, 0);
}

std::vector<Angle> faster_angles_of(const std::vector<std::pair<double, double>>& entries, bool sine) {
  constexpr int kMostTurns = 4;
  constexpr double kNear = 1e-4;
  std::vector<Angle> angles;
  if (entries.empty()) return angles;
  const auto [x, entry] = entries.front();
  const double base = sine ? std::asin(std::clamp(entry, -1.0, 1.0)) : std::acos(std::clamp(entry, -1.0, 1.0));
  for (int turns = 0; turns <= kMostTurns; ++turns) {
    for (const double first : {base, sine ? std::numbers::pi - base : 2 * std::numbers::pi - base}) {
      const Angle angle = angle_near(entries, sine, (first + 2 * std::numbers::pi * turns) / x);
      const auto is_near = [&](const auto& e) {
        return std::abs((sine ? std::sin(angle.step * e.first) : std::cos(angle.step * e.first)) - e.second) <= kNear;
      };
      if (angle.step > 0 && angle.weight > 0 && std::ranges::all_of(entries, is_near)) angles.push_back(angle);
    }
  }
  std::ranges::sort(angles, {}, &Angle::step);
  return angles;
}

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
  return angle_near(entries, sine, std::acos(above / under));
}

double rounded_base(double base) {
  const double unit = std::pow(10, std::floor(std::log10(base)) - 1), whole = std::round(base / unit) * unit;
  return std::abs(whole - base) < 1e-4 * base ? whole : base;
}

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

using Entries = std::vector<std::pair<double, double>>;  // place and entry, places rising from above 0

Entries entries_at(const View& column, const Span& span) {
  Entries entries;
  const Size& n = column.length();
  for (size_t k = 0; k < column.traces(); ++k) {
    const double under = under_of(span, n.at[k]);
    for (int64_t i = 0; i < n.at[k]; ++i) {
      const double x = static_cast<double>(span.of * i + span.from) / under + span.start;
      if (x > 0) entries.emplace_back(x, column.at(k, i, 0));
    }
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

Formula place_formula(const Span& span, const Size& n) {
  const Size steps = span.ends ? n - constant_size(1, n.at.size()) : n;
  Formula under = as_real(span.ends ? larger(steps, Formula(1)) : Formula(steps));
  if (span.more != 0) under = in_single(under + real_number(span.more));
  return as_real(position(0) * Formula(span.of) + Formula(span.from)) / under + real_number(span.start);
}

// entry = raised + cos(step * x), or sin.
struct Raised {
  double step = 0, raised = 0, error = 0;
};

Raised raised_by(double step, const Entries& entries, bool sine) {
  Raised out{step, 0, 0};
  const auto wave = [&](double x) { return sine ? std::sin(step * x) : std::cos(step * x); };
  for (const auto& [x, entry] : entries) out.raised += (entry - wave(x)) / static_cast<double>(entries.size());
  for (const auto& [x, entry] : entries) {
    const double rest = entry - out.raised - wave(x);
    out.error += rest * rest;
  }
  return out;
}

// The step that leaves least: steps are tried in proportion, the best of them is made exact.
Raised best_raised(const Entries& entries, bool sine) {
  constexpr double kSmallest = 1e-4, kLargest = 7, kRatio = 1.03;
  constexpr int kRefinements = 80;
  Raised best = raised_by(kSmallest, entries, sine);
  for (double step = kSmallest * kRatio; step < kLargest; step *= kRatio)
    if (const Raised other = raised_by(step, entries, sine); other.error < best.error) best = other;
  double low = best.step / kRatio, high = best.step * kRatio;
  for (int i = 0; i < kRefinements; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (raised_by(a, entries, sine).error < raised_by(b, entries, sine).error) {
      high = b;
    } else {
      low = a;
    }
  }
  return raised_by((low + high) / 2, entries, sine);
}

}  // namespace

std::optional<Sequence> fit_sinusoid_of_place(const View& column) {
  if (column.kind != Kind::kReal) return std::nullopt;
  const Size& n = column.length();
  for (const auto& list : column.entries)
    if (std::any_of(list.begin(), list.end(), [](double entry) { return !(std::abs(entry) <= 1 + 1e-5); }))
      return std::nullopt;
  for (const Span& span : kSpans) {
    const Entries entries = entries_at(column, span);
    for (const bool sine : {false, true}) {
      const auto fit_of = [&](const Angle& angle) -> std::optional<Sequence> {
        if (angle.weight == 0) return std::nullopt;
        const Formula turned = real_number(angle.step) * place_formula(span, n);
        return checked(column, sine ? thaw::lifting::sine(turned) : cosine(turned),
                       fmt::format("{} of {:.6g} times {} of {}", sine ? "sin" : "cos", angle.step, span.name,
                                   dim::to_string(n.dim)));
      };
      if (auto fit = fit_of(angle_of(entries, sine))) return fit;
      for (const Angle& angle : faster_angles_of(entries, sine))
        if (auto fit = fit_of(angle)) return fit;
    }
  }
  return std::nullopt;
}

std::optional<Sequence> fit_raised_sinusoid_of_place(const View& column) {
  constexpr size_t kFewest = 6, kMost = 24;  // entries that are looked at
  constexpr double kNear = 1e-5;
  if (column.kind != Kind::kReal || column.traces() < 2) return std::nullopt;
  const Size& n = column.length();
  for (const Span& span : kSpans) {
    const Entries all = entries_at(column, span);
    Entries some;
    for (size_t i = 0; i < all.size(); i += all.size() / kMost + 1) some.push_back(all[i]);
    if (some.size() < kFewest) continue;
    for (const bool sine : {true, false}) {
      const Raised raised = best_raised(some, sine);
      if (raised.error > kNear * kNear * static_cast<double>(some.size())) continue;
      const Formula turned = real_number(raised.step) * place_formula(span, n);
      const Formula formula = (sine ? thaw::lifting::sine(turned) : cosine(turned)) + real_number(raised.raised);
      if (!holds(column, formula, 0, 1)) continue;
      return Sequence{fmt::format("{:.6g} + {} of {:.6g} times {} of {}", raised.raised, sine ? "sin" : "cos",
                                  raised.step, span.name, dim::to_string(n.dim)),
                      formula};
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
