// Sequences: a column as a function of its index, at each size.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/keys/key.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

// How much of the last of windows as long as the list is there: all of it, where a size is whole windows. Many sizes give
// the rest of a small window by chance.
std::optional<Size> part_of_last_window(const std::vector<int64_t>& wanted, const Size& window, const Solver& solver) {
  constexpr double kMostByChance = 0.01;
  if (!window.dim.is_constant() || window.at[0] < 2) return std::nullopt;
  std::vector<Size> sizes;
  for (const Variable& v : solver.variables())
    if (v.varies()) sizes.push_back({v.symbol, v.at});
  if (const TensorSizes* tensors = solver.tensors())
    for (const auto& [at, size] : *tensors) sizes.push_back({size.dim, at});
  const double chance = std::pow(static_cast<double>(window.at[0]), -static_cast<double>(wanted.size()));
  if (static_cast<double>(sizes.size()) * chance > kMostByChance) return std::nullopt;
  for (const Size& size : sizes) {
    Size part = size - window * (ceil_div(size, window) - constant_size(1, wanted.size()));
    if (part.at == wanted) return part;
  }
  return std::nullopt;
}

// A size, or a size below 0.
std::optional<Size> solve_signed(const std::vector<int64_t>& at, const View& view, const Solver& solver) {
  if (auto size = solve_count(at, view, solver)) return size;
  if (std::ranges::any_of(at, [](int64_t value) { return value >= 0; })) return std::nullopt;
  std::vector<int64_t> turned = at;
  for (int64_t& value : turned) value = -value;
  const auto size = solve_count(turned, view, solver);
  if (!size) return std::nullopt;
  return constant_size(-1, at.size()) * *size;
}

// A size, or a number of steps: where the middle row of a table of distances begins.
std::optional<Size> solve_start(const std::vector<int64_t>& at, const Size& step, const View& view,
                                const Solver& solver) {
  if (auto size = solve_signed(at, view, solver)) return size;
  std::vector<int64_t> steps;
  for (size_t k = 0; k < at.size(); ++k) {
    if (step.at[k] == 0 || at[k] % step.at[k] != 0) return std::nullopt;
    steps.push_back(at[k] / step.at[k]);
  }
  const auto count = solve_signed(steps, view, solver);
  return count ? std::optional(*count * step) : std::nullopt;
}

// A size of the variable above the traces' that leaves 2 or more of it over so many positions: what tells that it is spread over them.
std::optional<int64_t> telling_size(const Variable& v, const Size& count, std::span<const Variable> variables) {
  constexpr int64_t kMostTried = 4096;
  const int64_t largest = std::ranges::max(v.at);
  std::vector<int64_t> sizes;
  for (const Variable& each : variables) sizes.push_back(each.at.front());
  // As what all of the traces' sizes are multiples of, where one of these tells.
  for (const int64_t step : {common_divisor(v.at), int64_t{1}})
    for (int64_t size = largest + step; size <= largest + kMostTried; size += step) {
      sizes[static_cast<size_t>(&v - variables.data())] = size;
      const int64_t n = dim::evaluate(count.dim, assignment_at(variables, sizes)).value_or(0);
      if (n > 2 && size % n > 1) return size;
    }
  return std::nullopt;
}

// How far positions are apart that a size is spread over: the size over how many there are, rounded down, as of the cells of a coarse
// level in an image that they do not divide. Where no more than 1 is ever left of it, nothing tells that from places that are rounded
// one by one: unknown then. nullopt where no size is spread so.
std::optional<Size> spread_stride(const View& view, const std::vector<int64_t>& steps, TableContext& context) {
  std::optional<Size> found;
  for (const Variable& v : context.variables)
    for (const int64_t before : {0, 1}) {  // that stand before these
      bool fits = v.varies(), told = false;
      size_t shown = 0;
      for (size_t k = 0; k < view.traces() && fits; ++k) {
        const int64_t n = view.length().at[k] + before;
        if (n < 2) continue;
        fits = v.at[k] / n == steps[k] * context.unit;
        told |= context.unit == 1 && before == 0 && n > 2 && v.at[k] % n > 1;
        ++shown;
      }
      if (!fits || shown < 2) continue;
      if (told) return Size{v.symbol, v.at} / view.length();
      found = Size{dim::Dim(), steps};
      if (const auto size = telling_size(v, view.length(), context.variables))
        context.untold = fmt::format(
            "its positions are as far apart as {0} over how many there are, rounded down, and no trace tells that from "
            "a number: add a trace at {0} = {1}",
            dim::to_string(v.symbol), *size);
    }
  return found;
}

// The step of a line; unknown where what gives it is a guess.
std::optional<Size> solve_step(const View& view, const std::vector<int64_t>& steps, bool whole, TableContext& context) {
  const Solver& solver = context.solver;
  const auto plain = solver.solutions(steps, 1);
  if (whole && (plain.empty() || plain.front().rule > Rule::kTensor))
    if (auto spread = spread_stride(view, steps, context)) return spread;
  return solve_signed(steps, view, solver);
}

}  // namespace

std::optional<Generated> fit_constant(const Given& column) {
  const View& view = column.view;
  const Formula formula = numbers({view.entries[0].front()}, view.kind, 0);
  return checked(view, formula, fmt::format("{} everywhere", view.entries[0].front()));
}

// Numbers that are the same in every trace, of a length that is too: what comes again after a few positions.
std::optional<Generated> fit_same(const Given& column) {
  const View& view = column.view;
  constexpr int64_t kMostNumbers = 64;
  if (!view.length().dim.is_constant() || view.length().at.front() > kMostNumbers) return std::nullopt;
  const std::vector<double>& all = view.entries.front();
  return checked(view, look_up_rows(all, 1, view.kind, position(0)), fmt::format("{} numbers", all.size()));
}

// Two values, the second from some position on.
std::optional<Generated> fit_step(const Given& column) {
  const View& view = column.view;
  const Solver& solver = column.context.solver;
  std::vector<int64_t> ends;
  const double before = view.entries[0].front();
  double after = before;
  bool shown = false, goes_on = view.kind != Kind::kReal;
  for (const auto& list : view.entries) {
    const auto end = std::find_if(list.begin(), list.end(), [&](double entry) { return entry != before; });
    ends.push_back(end - list.begin());
    goes_on |= ends.back() > 1 || list.end() - end > 1;
    if (end != list.end()) after = *end;
    shown |= end != list.begin() && end != list.end();
  }
  // Where each trace has one value alone, nothing tells that they follow a position; nor do two reals, whatever they are.
  if (!shown || !goes_on) return std::nullopt;
  auto end = solve_end(ends, view, solver);
  if (!end) end = part_of_last_window(ends, view.length(), solver);
  if (after == before || !end) return std::nullopt;
  const Formula formula =
      choose(less(position(0), *end), numbers({before}, view.kind, 0), numbers({after}, view.kind, 0));
  return checked(view, formula, fmt::format("{} below {}, then {}", before, dim::to_string(end->dim), after));
}

// step * index + start, both sizes; the index may begin to count, and stop, at others.
std::optional<Generated> fit_line(const Given& column) {
  const View& view = column.view;
  const Solver& solver = column.context.solver;
  if (std::ranges::any_of(view.entries, &std::vector<double>::empty)) return std::nullopt;
  std::vector<int64_t> steps, starts, begins, stops;
  bool late = false, stopped = false, all_stopped = true;
  int64_t longest_rest = 0;
  for (const auto& list : view.entries) {
    size_t begin = 0;
    while (begin + 1 < list.size() && list[begin + 1] == list[0]) ++begin;
    if (begin + 1 == list.size()) begin = 0;
    const double step = begin + 1 < list.size() ? list[begin + 1] - list[begin] : 0;
    size_t stop = begin;
    while (stop + 1 < list.size() && list[stop + 1] - list[stop] == step) ++stop;
    starts.push_back(std::llround(list.front()));
    steps.push_back(std::llround(step));
    begins.push_back(static_cast<int64_t>(begin));
    stops.push_back(static_cast<int64_t>(stop));
    late |= begin > 0;
    stopped |= stop + 1 < list.size();
    all_stopped &= stop + 1 < list.size();
    longest_rest = std::max(longest_rest, static_cast<int64_t>(list.size() - 1 - stop));
  }
  const auto step = solve_step(view, steps, !late && !stopped, column.context);
  if (step && step->dim.is_unknown()) return std::nullopt;
  const auto start = step ? solve_start(starts, *step, view, solver) : std::nullopt;
  if (!start) return std::nullopt;
  std::string text = fmt::format("{} * index + {}", dim::to_string(step->dim), dim::to_string(start->dim));
  if (!stopped && !late) {
    const auto number = step->dim.constant();
    const Formula line = within(position(0) * *step, limits_of_step(number.value_or(0), view.length(), solver));
    return checked(view, line + *start, text);
  }
  const auto begin = solve_end(begins, view, solver);
  if (!begin) return std::nullopt;
  Formula index = position(0);
  if (late) {
    index = larger(index, *begin) - *begin;
    text += fmt::format(", from {} on", dim::to_string(begin->dim));
  }
  if (!stopped) return checked(view, index * *step + *start, text);
  for (size_t k = 0; k < stops.size(); ++k) stops[k] -= begins[k];
  // A trace that is too short to stop says little of where it would: no more than a plain size is believed. Buckets that
  // go on to grow, by one factor each, stay the same for a while, as those do that have ended.
  const auto plain = solver.solutions(stops, 1);
  const bool is_told = all_stopped || (!plain.empty() && plain.front().rule <= Rule::kLine);
  const int64_t longest = *std::max_element(stops.begin(), stops.end());
  for (const auto& stop : {is_told ? solve_end(stops, view, solver) : std::nullopt,
                           std::optional(constant_size(longest, view.traces()))}) {
    if (!stop || (stop->dim.is_constant() && longest_rest < longest)) continue;
    if (auto fit = checked(view, smaller(index, *stop) * *step + *start,
                           fmt::format("{}, for {} steps", text, dim::to_string(stop->dim))))
      return fit;
  }
  return std::nullopt;
}

std::optional<Generated> fit_sinusoid(const Given& column) {
  const Size& length = column.view.length();
  const CounterPtr index[] = {std::make_shared<const Counter>("index", position(0), length, length)};
  return fit_columns_by(column, index);
}

// A multiple of a sequence of small integers, from a number on.
std::optional<Generated> fit_multiple(const Given& column) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53: a double tells larger integers no longer apart
  const View& view = column.view;
  if (column.digits == 0) return std::nullopt;
  for (const auto& list : view.entries)
    for (const double entry : list)
      if (!(std::abs(entry) <= kMostExact)) return std::nullopt;
  for (const int64_t start : {int64_t{0}, static_cast<int64_t>(std::llround(view.entries[0].front()))}) {
    int64_t factor = 0;
    for (const auto& list : view.entries)
      for (const double entry : list) factor = std::gcd(factor, static_cast<int64_t>(std::llround(entry)) - start);
    if (factor == 0 || (factor == 1 && start == 0)) continue;
    View values = view;
    for (auto& list : values.entries)
      for (double& entry : list) entry = (entry - static_cast<double>(start)) / static_cast<double>(factor);
    const int64_t unit = std::exchange(column.context.unit, column.context.unit * factor);
    const auto fit = fit_sequence({values, column.context, column.digits - 1});
    column.context.unit = unit;
    if (!fit) continue;
    return Generated{start == 0 ? fmt::format("{} * ({})", factor, fit->description)
                                : fmt::format("{} * ({}) + {}", factor, fit->description, start),
                     fit->formula() * Formula(factor) + Formula(start)};
  }
  return std::nullopt;
}

namespace {

// Integers that are written as reals, a last bit off where they were computed in another order.
std::optional<View> as_whole(const View& view) {
  constexpr double kLargest = 1 << 24;
  View whole = view;
  whole.kind = Kind::kInteger;
  for (auto& list : whole.entries)
    for (double& entry : list) {
      const double rounded = std::round(entry);
      if (!view.close(entry, rounded) || std::abs(entry) > kLargest) return std::nullopt;
      entry = rounded;
    }
  return whole;
}

}  // namespace

std::optional<Generated> fit_whole_numbers(const Given& column) {
  const auto whole = as_whole(column.view);
  const auto fit = whole ? fit_sequence({*whole, column.context, column.digits}) : std::nullopt;
  return fit ? checked(column.view, as_real(fit->formula()), fit->description) : std::nullopt;
}

std::optional<Generated> checked(const View& column, Formula formula, std::string description) {
  if (!holds(column, formula, 0, 1)) return std::nullopt;
  return Generated{std::move(description), std::move(formula)};
}

std::optional<Generated> fit_whole_line(const Given& column) {
  const auto whole = as_whole(column.view);
  auto fit = whole ? fit_line({*whole, column.context}) : std::nullopt;
  if (!fit || column.view.kind != Kind::kReal) return fit;
  return Generated{std::move(fit->description), as_real(fit->formula())};
}

}  // namespace thaw::lifting
