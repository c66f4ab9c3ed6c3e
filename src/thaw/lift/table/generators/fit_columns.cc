// Columns that are functions of one coordinate.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"
#include "thaw/lift/table/waves/frequencies.h"
#include "thaw/lift/table/waves/wave.h"
#include "thaw/math/rotary_frequencies.h"

namespace thaw::lifting {
namespace {

enum class Function : uint8_t { kAffine, kCos, kSin };

const char* words_of(Function f) {
  return f == Function::kAffine ? "affine in" : f == Function::kCos ? "cos of a multiple of" : "sin of a multiple of";
}

// f(scale * counter + offset).
struct ColumnFit {
  CounterPtr counter;
  Function function = Function::kAffine;
  double scale = 0, offset = 0;
  double weight = 0;     // kCos, kSin: how well the scale is known
  bool is_told = false;  // the others of its run, or of the table, tell the scale
  // How far the true scale may be from it.
  double within(const View& view) const { return weight > 0 ? 2 * view.tolerance / weight : 1; }
  // A cosine that is 1 as far as the traces go is a constant, or turns too slowly for them.
  bool is_flat(const View& view) const {
    constexpr double kBadly = 0.1;
    return function == Function::kCos && within(view) > kBadly * std::abs(scale);
  }
  bool same_kind(const ColumnFit& other) const { return counter == other.counter && function == other.function; }
  double at(double x) const {
    if (function == Function::kAffine) return scale * x + offset;
    return function == Function::kSin ? std::sin(scale * x) : std::cos(scale * x);
  }
};

// A column as a function of a counter, over all traces: its values at first, first + 1, …; NaN where the counter is never.
struct ColumnValues {
  int64_t first = 0;
  std::vector<double> at;
};

// False where two rows of the few that are looked at are counted alike and differ.
bool may_count(const View& view, int64_t column, const Counter& counter) {
  const std::vector<int64_t>& at = counter.of_few();
  std::vector<std::pair<int64_t, double>> rows;
  for (size_t r = 0; r < at.size(); ++r)
    if (const double entry = view.at(0, static_cast<int64_t>(r), column); !std::isnan(entry))
      rows.emplace_back(at[r], entry);
  std::ranges::stable_sort(rows, {}, &std::pair<int64_t, double>::first);
  for (size_t i = 1, first = 0; i < rows.size(); ++i) {
    if (rows[i].first != rows[first].first) first = i;
    if (!view.close(rows[first].second, rows[i].second)) return false;
  }
  return true;
}

std::optional<ColumnValues> as_function(const View& view, int64_t column, const Counter& counter) {
  // A counter of real rows counts to some multiple of them.
  constexpr int64_t kFurthest = int64_t{1} << 24;
  ColumnValues values;
  for (size_t k = 0; k < view.traces(); ++k) {
    for (const int64_t x : counter.at(k)) {
      if (x < -kFurthest || x > kFurthest) return std::nullopt;
      values.first = std::min(values.first, x);
    }
  }
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t length = view.length().at[k];
    const std::vector<int64_t>& at = counter.at(k);
    for (int64_t r = 0; r < length; ++r) {
      const auto x = static_cast<size_t>(at[static_cast<size_t>(r)] - values.first);
      if (x >= values.at.size()) values.at.resize(x + 1, std::numeric_limits<double>::quiet_NaN());
      const double entry = view.at(k, r, column);
      if (std::isnan(values.at[x])) {
        values.at[x] = entry;
      } else if (!view.close(values.at[x], entry)) {
        return std::nullopt;
      }
    }
  }
  return values;
}

bool gives_values(const ColumnValues& values, const View& view, const ColumnFit& fit) {
  const bool is_sinusoid = fit.function != Function::kAffine;
  for (size_t x = 0; x < values.at.size(); ++x) {
    if (std::isnan(values.at[x])) continue;
    const double at = static_cast<double>(values.first + static_cast<int64_t>(x)), expected = fit.at(at);
    if (view.close(values.at[x], expected)) continue;
    if (!is_sinusoid || !is_near_wave(view, values.at[x], expected, fit.scale * at)) return false;
  }
  return true;
}

// A line goes through any two entries. Learned ones are not apart by a number that somebody would write.
bool is_written_step(double number) {
  constexpr double kParts = 64, kRounding = 1e-4;
  return std::abs(number * kParts - std::round(number * kParts)) < kRounding;
}

bool fit_affine(const ColumnValues& values, const View& view, ColumnFit& fit) {
  size_t first = 0, last = values.at.size() - 1;
  while (first < last && std::isnan(values.at[first])) ++first;
  fit.scale = last == first ? 0 : (values.at[last] - values.at[first]) / static_cast<double>(last - first);
  if (view.exact() && fit.scale != std::round(fit.scale)) return false;
  fit.offset = values.at[first] - fit.scale * static_cast<double>(values.first + static_cast<int64_t>(first));
  const auto known = std::ranges::count_if(values.at, [](double entry) { return !std::isnan(entry); });
  if (known == 2 && !is_written_step(fit.scale)) return false;
  return gives_values(values, view, fit);
}

bool fit_angle(const ColumnValues& values, const View& view, ColumnFit& fit) {
  const bool sine = fit.function == Function::kSin;
  std::vector<Sample> samples;
  for (size_t i = 0; i < values.at.size(); ++i) {
    const int64_t x = values.first + static_cast<int64_t>(i);
    if (std::isnan(values.at[i])) continue;
    if (std::abs(values.at[i]) > 1 + view.tolerance) return false;
    if (x > 0) samples.push_back({static_cast<double>(x), values.at[i]});
  }
  // Any entry is a sine; that it is 0 where its angle is says nothing.
  if (samples.size() == 1 && samples.front().entry != (sine ? 0 : 1)) return false;
  const auto take = [&](const Angle& angle) {
    fit.scale = angle.step;
    fit.weight = angle.weight;
    // A cosine that is flat as far as the traces go may be of a very small multiple: the others of its run tell.
    return (fit.weight > 0 || !sine) && gives_values(values, view, fit);
  };
  if (take(angle_of(samples, sine))) return true;
  const bool begins_late = !samples.empty() && samples.front().x > 1;
  return begins_late && take(angle_from_neighbours(samples, sine));
}

std::optional<ColumnFit> fit_in(const View& view, int64_t column, const CounterPtr& counter,
                                std::span<const Function> functions) {
  if (!may_count(view, column, *counter)) return std::nullopt;
  const auto values = as_function(view, column, *counter);
  if (!values || values->at.empty()) return std::nullopt;
  for (const Function f : functions) {
    if (view.exact() && f != Function::kAffine) continue;
    ColumnFit fit{.counter = counter, .function = f};
    if (f == Function::kAffine ? fit_affine(*values, view, fit) : fit_angle(*values, view, fit)) return fit;
  }
  return std::nullopt;
}

// like: the column before, which tells how the rows are counted most of the time. key: of the column and the functions.
std::optional<ColumnFit> fit_column(const View& view, std::span<const CounterPtr> counters, int64_t column,
                                    std::span<const Function> functions, const ColumnFit* like, FittedBefore* before,
                                    uint64_t key) {
  if (like && std::find(functions.begin(), functions.end(), like->function) != functions.end())
    if (auto fit = fit_in(view, column, like->counter, {&like->function, 1})) return fit;
  return first_way(before, key, counters.size(),
                   [&](size_t way) { return fit_in(view, column, counters[way], functions); });
}

// The steps of columns by families of a base that people write and of a first frequency of 1, that give all their entries: each way once.
std::vector<std::vector<double>> steps_by_families(const View& view, const std::vector<int64_t>& columns,
                                                   const std::vector<ColumnFit>& fits) {
  constexpr double kNearOne = 1e-4;
  std::vector<KnownStep> known;
  for (const ColumnFit& fit : fits) known.push_back(fit.is_flat(view) ? KnownStep() : KnownStep{fit.scale, fit.weight});
  std::vector<std::vector<double>> found;
  for (const Family& family : possible_families(known)) {
    if (std::abs(family.first - 1) > kNearOne) continue;
    std::vector<double> steps;
    bool gives_all = true;
    for (size_t j = 0; j < fits.size() && gives_all; ++j) {
      ColumnFit fit = fits[j];
      fit.scale = family.at(j) / family.first;
      steps.push_back(fit.scale);
      const auto values = as_function(view, columns[j], *fit.counter);
      gives_all = values && gives_values(*values, view, fit);
    }
    const auto are_near = [](double a, double b) { return std::abs(a - b) <= kNearOne * std::max(a, b); };
    const auto is_it = [&](const std::vector<double>& other) { return std::ranges::equal(steps, other, are_near); };
    if (gives_all && std::ranges::none_of(found, is_it)) found.push_back(std::move(steps));
  }
  return found;
}

// The columns of a table have one family of frequencies, whatever each counts. What turns too slowly for the traces follows from those that do
// not; columns behind the family are 1. Whether it is so: one may end where another goes on, and neither is told then.
bool are_one_family(const View& view, std::vector<ColumnFit>& fits) {
  if (std::ranges::find(fits, Function::kAffine, &ColumnFit::function) != fits.end()) return false;
  std::vector<int64_t> columns(fits.size());
  std::iota(columns.begin(), columns.end(), 0);
  const auto found = steps_by_families(view, columns, fits);
  if (found.size() != 1) return false;
  for (size_t j = 0; j < fits.size(); ++j) {
    fits[j].scale = found.front()[j];
    fits[j].is_told = true;
  }
  return true;
}

// Frequencies of rotary positions are powers of one number. Small ones are badly known from few positions: where the
// columns of a run go with a geometric progression, their scales become exactly that. A run may hold each frequency
// several times in a row, or all of them again.
void straighten(const View& view, const std::vector<int64_t>& columns, std::vector<ColumnFit>& run,
                KnownFrequencies& known) {
  if (run.front().function == Function::kAffine) return;
  const auto is_flat = [&](const ColumnFit& fit) { return fit.is_flat(view); };
  if (std::ranges::any_of(run, is_flat) && steps_by_families(view, columns, run).size() > 1) return;
  size_t times = 1;
  while (times < run.size() && run[times].scale == run[0].scale) ++times;
  if (run.size() % times != 0) return;
  size_t count = 1;
  const size_t groups = run.size() / times;
  const auto again = [&](size_t period) {
    for (size_t j = 0; j < run.size(); ++j)
      if (run[j].scale != run[j / times % period * times].scale) return false;
    return true;
  };
  while (count < groups && (groups % count != 0 || !again(count))) ++count;
  if (count < 3) return;
  LogLine line;
  for (size_t j = 0; j < count; ++j) {
    const ColumnFit& fit = run[j * times];
    if (fit.weight == 0) continue;
    if (fit.scale <= 0) return;
    line.add(static_cast<double>(j), {fit.scale, fit.weight});
  }
  if (line.spread() <= 0) return;
  const double slope = line.slope(), start = line.start();
  const auto try_scales = [&](auto scale_of) {
    std::vector<ColumnFit> straight = run;
    for (size_t j = 0; j < run.size(); ++j) {
      straight[j].scale = scale_of(static_cast<double>(j / times % count));
      if (j / times >= count || j % times != 0) continue;
      const auto values = as_function(view, columns[j], *run[j].counter);
      if (!values || !gives_values(*values, view, straight[j])) return false;
    }
    run = std::move(straight);
    for (ColumnFit& fit : run) fit.is_told = true;
    return true;
  };
  // The error of the line at a place.
  const auto is_known_at = [&](double x) {
    constexpr double kWell = 1e-3;
    return 2 * view.tolerance * line.error_at(x) < kWell;
  };
  // 1, base^(-1/n), base^(-2/n), …: the base as it was written.
  const double length = static_cast<double>(count), base = rounded_base(std::exp(-slope * length));
  if (std::abs(start) < 1e-5 && try_scales([&](double j) { return math::rotary_frequency(base, j, length); })) return;
  const std::vector<ColumnFit> before = run;
  if (try_scales([&](double j) { return std::exp(start + slope * j); })) {
    // What is flat may as well be a constant behind them.
    for (size_t j = 0; j < run.size(); ++j)
      run[j].is_told = !is_flat(before[j]) && is_known_at(static_cast<double>(j / times % count));
    return;
  }
  std::vector<Frequency> frequencies;
  for (size_t j = 0; j < count; ++j) {
    const ColumnFit& fit = run[j * times];
    frequencies.push_back({fit.scale, fit.within(view)});
  }
  const auto step_of = [&](double j) { return frequencies[static_cast<size_t>(j)].step; };
  if (scale_slow_ones(frequencies)) try_scales(step_of);
  if (take_what_is_known(frequencies, known) && try_scales(step_of))
    for (size_t j = 0; j < run.size(); ++j) run[j].is_told = frequencies[j / times % count].within < 1;
}

size_t end_of_run(const std::vector<ColumnFit>& fits, size_t begin) {
  size_t end = begin + 1;
  while (end < fits.size() && fits[end].same_kind(fits[begin])) ++end;
  return end;
}

// Consecutive columns of one kind, as one outer product of the coordinate and their scales.
Part outer_product(std::span<const ColumnFit> run, const View& view, const Solver& solver) {
  const Kind kind = view.exact() ? Kind::kInteger : Kind::kReal;
  const ColumnFit& first = run.front();
  std::vector<double> scales, offsets;
  for (const ColumnFit& fit : run) {
    scales.push_back(fit.scale);
    offsets.push_back(fit.offset);
  }
  const Formula scaled = first.counter->formula() * numbers(scales, kind, view.last_axis());
  const auto count = static_cast<int64_t>(run.size());
  if (first.function == Function::kCos) return {cosine(scaled), count};
  if (first.function == Function::kSin) return {sine(scaled), count};
  std::vector<Limit> limits;
  for (const double step : std::set<double>(scales.begin(), scales.end()))
    if (step == std::round(step))
      std::ranges::move(limits_of_step(std::llround(step), first.counter->range(), solver), std::back_inserter(limits));
  return {within(scaled, std::move(limits)) + numbers(offsets, kind, view.last_axis()), count};
}

std::optional<Generated> fit_plain_columns(const View& view, std::span<const CounterPtr> counters,
                                           TableContext& context) {
  // A sine of small angles looks like a line: all columns are of one function where they can be.
  constexpr Function kEach[] = {Function::kAffine, Function::kCos, Function::kSin};
  const std::span<const Function> every(kEach), angles = every.subspan(1);
  const std::array ways = {every.first(1), angles.first(1), angles.last(1), angles, every};
  FittedBefore* before = context.before;
  const uint64_t key = before ? FittedBefore::key_of(view, Ways::kFunctions, counters.size()) : 0;
  std::vector<ColumnFit> fits;
  const auto fit_all = [&](size_t way) -> std::optional<size_t> {
    fits.clear();
    for (int64_t column = 0; column < view.width; ++column) {
      const uint64_t at_column = key + 1 + static_cast<uint64_t>(column) * ways.size() + way;
      const auto fit =
          fit_column(view, counters, column, ways[way], fits.empty() ? nullptr : &fits.back(), before, at_column);
      if (!fit) return std::nullopt;
      fits.push_back(*fit);
    }
    return way;
  };
  if (!first_way(before, key, view.exact() ? 1 : ways.size(), fit_all)) return std::nullopt;
  const ColumnFit& first = fits.front();
  Generated out;
  out.description = fmt::format("{} {}", words_of(first.function), first.counter->name());
  // Run by run; where columns of sines and cosines take turns, those of each.
  const auto straighten_all = [&](auto belongs) {
    std::vector<int64_t> columns;
    std::vector<ColumnFit> kind;
    for (size_t column = 0; column < fits.size(); ++column) {
      if (!belongs(column)) continue;
      columns.push_back(static_cast<int64_t>(column));
      kind.push_back(fits[column]);
    }
    straighten(view, columns, kind, context.frequencies);
    for (size_t i = 0; i < columns.size(); ++i) fits[static_cast<size_t>(columns[i])] = kind[i];
  };
  const bool is_family = are_one_family(view, fits);
  const bool in_turn = fits.size() > 2 && !fits[1].same_kind(fits[0]) && fits[2].same_kind(fits[0]);
  if (in_turn && !is_family)
    for (const size_t like : {size_t{0}, size_t{1}})
      straighten_all([&](size_t column) { return fits[column].same_kind(fits[like]); });
  for (size_t begin = 0; begin < fits.size() && !in_turn && !is_family; begin = end_of_run(fits, begin)) {
    const size_t end = end_of_run(fits, begin);
    straighten_all([&](size_t column) { return column >= begin && column < end; });
  }
  if (std::ranges::any_of(fits, [&](const ColumnFit& fit) { return !fit.is_told && fit.is_flat(view); })) {
    if (context.frequencies.is_last) return std::nullopt;
    context.frequencies.badly = true;  // the table of sines that comes after it may tell
  }
  for (size_t begin = 0, end = 0; begin < fits.size(); begin = end) {
    end = end_of_run(fits, begin);
    out.parts.push_back(outer_product(std::span(fits).subspan(begin, end - begin), view, context.solver));
  }
  return out;
}

}  // namespace

std::optional<Generated> fit_columns_by(const Given& table, std::span<const CounterPtr> counters) {
  const View& view = table.view;
  if (view.kind == Kind::kTruth) return std::nullopt;
  if (auto fit = fit_plain_columns(view, counters, table.context)) return fit;
  const auto height = amplitude_of(view);
  if (!height) return std::nullopt;
  View unit = view;
  for (auto& entries : unit.entries)
    for (double& entry : entries) entry /= *height;
  auto fit = fit_plain_columns(unit, counters, table.context);
  if (!fit) return std::nullopt;
  fit->description += fmt::format(", times {:.9g}", *height);
  for (Part& part : fit->parts) part.formula = part.formula * real_number(*height);
  return fit;
}

std::optional<Generated> fit_columns(const Given& table) {
  std::vector<CounterPtr> counters = table.counters();
  std::ranges::copy(table.distances(), std::back_inserter(counters));
  return fit_columns_by(table, counters);
}

}  // namespace thaw::lifting
