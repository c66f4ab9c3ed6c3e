// Cells of one length laid over another: lines between two ends, the neighbours of a place and what they weigh.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

double rounded(double value) {
  constexpr double kNear = 2e-5;
  const double whole = std::round(value * 2) / 2;
  return std::abs(value - whole) <= kNear * std::max(1.0, std::abs(value)) ? whole : value;
}

// Where the cells of one length fall on another: (index * over + shift) / under, as integers.
struct Scaling {
  const char* name;
  Formula scaled, under;
};

std::vector<Scaling> scalings(const Size& n, const Formula& side) {
  const Formula i = position(0), two(2);
  const Formula steps = larger(n - constant_size(1, n.at.size()), Formula(1));
  return {{"first to first and last to last", i * (side - Formula(1)), steps},
          {"cell by cell", i * side, n},
          {"from centre to centre", larger((two * i + Formula(1)) * side - n, Formula(0)), two * n},
          {"by centres", (two * i + Formula(1)) * side, two * n}};
}

std::optional<Generated> fit_neighbours(const View& view, const Formula& side, const std::string& text) {
  const Formula last = side - Formula(1);
  for (const Scaling& scaling : scalings(view.length(), side)) {
    const Formula low = scaling.scaled / scaling.under;
    const std::string place = fmt::format("{} positions, {}", text, scaling.name);
    if (view.kind == Kind::kInteger) {
      if (auto fit = checked(view, smaller(low, last), "the nearest or lower of " + place)) return fit;
      if (auto fit = checked(view, smaller(low + Formula(1), last), "the upper of " + place)) return fit;
      const Formula half = (scaling.scaled + scaling.scaled + scaling.under) / (scaling.under + scaling.under);
      if (auto fit = checked(view, smaller(half, last), "the nearest of " + place)) return fit;
    } else {
      const Formula rest = as_real(scaling.scaled % scaling.under) / as_real(scaling.under);
      if (auto fit = checked(view, rest, "the weight of the upper of " + place)) return fit;
      if (auto fit = checked(view, real_number(1) - rest, "the weight of the lower of " + place)) return fit;
    }
  }
  return std::nullopt;
}

// Whether all steps are alike in each trace, of several there: then nothing tells places that are rounded one by one from multiples of a
// rounded step.
bool is_line_everywhere(const View& view) {
  bool several = false;
  for (const auto& list : view.entries) {
    for (size_t i = 2; i < list.size(); ++i)
      if (list[i] - list[i - 1] != list[1] - list[0]) return false;
    several |= list.size() > 2;
  }
  return several;
}

}  // namespace

std::optional<Generated> fit_linspace(const Given& column) {
  const View& view = column.view;
  const Size& n = view.length();
  size_t longest = 0, shortest = 0;
  std::vector<double> steps;
  for (size_t k = 0; k < view.traces(); ++k) {
    if (n.at[k] < 2) return std::nullopt;
    const auto& list = view.entries[k];
    steps.push_back((list.back() - list.front()) / static_cast<double>(n.at[k] - 1));
    for (size_t i = 0; i < list.size(); ++i)
      if (!view.close(list[i], list[0] + steps[k] * static_cast<double>(i))) return std::nullopt;
    if (n.at[k] > n.at[longest]) longest = k;
    if (n.at[k] < n.at[shortest]) shortest = k;
  }
  if (longest == shortest) return std::nullopt;
  for (const int64_t less : {1, 0, -1}) {
    const double span = rounded(steps[longest] * static_cast<double>(n.at[longest] - less));
    const double long_step = span / static_cast<double>(n.at[longest] - less),
                 short_step = span / static_cast<double>(n.at[shortest] - less);
    if (long_step == short_step) continue;
    const double shift =
        rounded((view.entries[longest].front() - view.entries[shortest].front()) / (long_step - short_step));
    const double start = rounded(view.entries[longest].front() - shift * long_step);
    const Formula steps_of = less == 1 ? larger(n - constant_size(1, view.traces()), Formula(1))
                                       : Formula(n - constant_size(less, view.traces()));
    const Formula formula =
        (as_real(position(0)) + real_number(shift)) * real_number(span) / as_real(steps_of) + real_number(start);
    if (auto fit = checked(
            view, formula,
            fmt::format("(index + {:g}) * {:g} / ({} - {}) + {:g}", shift, span, dim::to_string(n.dim), less, start)))
      return fit;
  }
  return std::nullopt;
}

std::optional<Generated> fit_positions(const Given& column) {
  const View& view = column.view;
  if (is_line_everywhere(view)) return std::nullopt;
  std::vector<int64_t> low, high;  // of the other length, by trace
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto& list = view.entries[k];
    if (list.front() < 0 || list.size() < 2 || !std::is_sorted(list.begin(), list.end())) return std::nullopt;
    const int64_t last = std::llround(list.back()), n = view.length().at[k];
    low.push_back(last + 1);
    high.push_back((last + 1) * n / (n - 1) + 1);
  }
  for (const Variable& v : column.context.variables) {
    bool fits = true;
    for (size_t k = 0; k < view.traces(); ++k) fits &= low[k] <= v.at[k] && v.at[k] <= high[k];
    if (!fits) continue;
    if (auto fit = fit_neighbours(view, Size{v.symbol, v.at}, dim::to_string(v.symbol))) return fit;
  }
  constexpr int64_t kMostTried = 64;
  const int64_t least = std::max<int64_t>(2, *std::max_element(low.begin(), low.end()));
  const int64_t most = std::min(least + kMostTried, *std::min_element(high.begin(), high.end()));
  for (int64_t side = least; side <= most; ++side)
    if (auto fit = fit_neighbours(view, Formula(side), std::to_string(side))) return fit;
  return std::nullopt;
}

// Of traces that all have as many: no size is asked for, as one for each run of one position would be.
std::optional<Generated> fit_few_positions(const Given& list) {
  const View& view = list.view;
  const auto ends_alike = [&](const std::vector<double>& entries) {
    return !entries.empty() && entries.back() == view.entries[0].back();
  };
  const bool grows = std::ranges::any_of(view.length().at, [&](int64_t n) { return n != view.length().at[0]; });
  return grows && std::ranges::all_of(view.entries, ends_alike) ? fit_positions(list) : std::nullopt;
}

std::optional<Generated> fit_weights(const Given& column) {
  const View& view = column.view;
  constexpr int64_t kLargestSide = int64_t{1} << 20;
  std::vector<int64_t> sides = column.context.sides;
  const auto& list = view.entries[0];
  if (std::any_of(list.begin(), list.end(), [](double w) { return w < 0 || w > 1; })) return std::nullopt;
  const auto n = static_cast<double>(list.size());
  for (size_t i = list.size() / 3; i + 1 < list.size() && i < list.size() / 3 + 3; ++i) {
    const double step = std::abs(list[i + 1] - list[i]);
    for (const double each : {step, 1 - step})
      for (const double side : {each * n, each * (n - 1) + 1}) sides.push_back(std::llround(side));
  }
  std::sort(sides.begin(), sides.end());
  sides.erase(std::unique(sides.begin(), sides.end()), sides.end());
  for (const int64_t side : sides)
    if (side > 1 && side < kLargestSide)
      if (auto fit = fit_neighbours(view, Formula(side), std::to_string(side))) return fit;
  return std::nullopt;
}

}  // namespace thaw::lifting
