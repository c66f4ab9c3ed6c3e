// Tables between two axes: functions of the distance of two positions, and masks between groups of them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/key.h"
#include "thaw/lift/table/table_sizes.h"
#include "thaw/math/band.h"

namespace thaw::lifting {
namespace {

int64_t rows_in(const View& view, size_t trace) { return view.growing[0].at[trace]; }
int64_t columns_in(const View& view, size_t trace) { return view.growing[1].at[trace]; }
double entry_of(const View& view, size_t trace, int64_t i, int64_t j) {
  return view.entries[trace][static_cast<size_t>(i * columns_in(view, trace) + j)];
}

// What positions are told apart by, along both axes.
struct Group {
  std::string name;
  Formula of_row, of_column;
  // By trace.
  std::vector<std::vector<int64_t>> rows, columns;
};

std::vector<int64_t> places_along(const Formula& formula, int axis, size_t trace, const View& view) {
  Points points{.trace = trace, .positions = {{0}, {0}, {0}}};
  auto& positions = points.positions[static_cast<size_t>(axis)];
  positions.clear();
  for (int64_t i = 0; i < view.growing[static_cast<size_t>(axis)].at[trace]; ++i)
    positions.push_back(static_cast<double>(i));
  const Numbers all = evaluate(formula, points);
  std::vector<int64_t> out(all.entries.begin(), all.entries.end());
  out.resize(positions.size(), out.empty() ? 0 : out.front());
  return out;
}

// Groups by a formula over axis 0.
std::optional<Group> group_by(std::string name, const Formula& formula, const View& view) {
  const Formula across = position(1);
  const auto of_column = substitute(formula, {&across, 1});
  if (!of_column) return std::nullopt;
  Group group{std::move(name), formula, *of_column, {}, {}};
  for (size_t k = 0; k < view.traces(); ++k) {
    group.rows.push_back(places_along(group.of_row, 0, k, view));
    group.columns.push_back(places_along(group.of_column, 1, k, view));
  }
  return group;
}

// Which of a grid's windows a row of the table lies in.
Formula window_of_row(const Layout& layout, int64_t side) {
  const size_t traces = layout.height().at.size();
  const Size window = constant_size(side, traces);
  const Size down = ceil_div(layout.height(), window), across = ceil_div(layout.width(), window);
  const Place at = layout.place(position(0));
  return at.frame * Formula(down * across) + at.row / window * across + at.column / window;
}

// How many rows, or entries of the first column or row, are alike before the first that is not.
int64_t first_rows_alike(const View& view, size_t trace) {
  const int64_t rows = rows_in(view, trace), columns = columns_in(view, trace);
  const auto begin = view.entries[trace].begin();
  int64_t i = 1;
  while (i < rows && std::equal(begin, begin + columns, begin + i * columns)) ++i;
  return i;
}
int64_t first_entries_alike(const View& view, size_t trace, int axis) {
  int64_t at = 1;
  const auto entry = [&](int64_t i) { return axis == 0 ? entry_of(view, trace, i, 0) : entry_of(view, trace, 0, i); };
  while (at < view.growing[static_cast<size_t>(axis)].at[trace] && entry(at) == entry(0)) ++at;
  return at;
}

std::vector<Group> possible_groups(const View& view, TableContext& context) {
  std::vector<Group> groups;
  const auto add = [&](std::string name, const Formula& formula) {
    if (auto group = group_by(std::move(name), formula, view)) groups.push_back(std::move(*group));
  };
  add("positions", position(0));
  std::vector<int64_t> alike;
  size_t largest = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    alike.push_back(first_rows_alike(view, k));
    if (rows_in(view, k) > rows_in(view, largest)) largest = k;
  }
  // The first groups are told by rows that are alike, or by how far the first column, or row, is.
  std::vector<std::vector<int64_t>> runs{alike, {}, {}};
  for (size_t k = 0; k < view.traces(); ++k) {
    runs[1].push_back(first_entries_alike(view, k, 0));
    runs[2].push_back(first_entries_alike(view, k, 1));
  }
  for (size_t r = 0; r < runs.size(); ++r) {
    if (runs[r][largest] < 2 || std::find(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(r), runs[r]) !=
                                    runs.begin() + static_cast<std::ptrdiff_t>(r))
      continue;
    const int64_t longest = *std::max_element(runs[r].begin(), runs[r].end());
    const auto run = solve_count(runs[r], view, context.solver);
    if (run && !run->dim.is_constant())
      add(fmt::format("groups of {}", dim::to_string(run->dim)), position(0) / Formula(*run));
    add(fmt::format("groups of {}", longest), position(0) / Formula(longest));
  }
  if (!dim::same(view.growing[0].dim, view.growing[1].dim)) return groups;
  Layouts& layouts = layouts_of(view.growing[0], context);
  const int64_t run = first_entries_alike(view, largest, 1);
  for (const LayoutPtr& layout : layouts.plain_and_grids()) {
    if (!layout->is_grid()) continue;
    for (const CounterPtr& counter : layout->counters()) add("the " + counter->name(), counter->formula());
    const int64_t block = layout->block(), unit = block * block;
    if (run % unit == 0 && run / unit > 1) {
      const int64_t side = run / unit * block;
      add(fmt::format("windows of {0} x {0} of {1}", side, layout->describe()), window_of_row(*layout, side));
    }
    // In the order of windows, the first run is a whole window.
    const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(run))));
    if (side * side != run || side % block != 0 || side / block < 2) continue;
    for (const LayoutPtr& windows : layouts.windows(side / block))
      if (windows->block() == block && dim::same(windows->height().dim, layout->height().dim) &&
          dim::same(windows->width().dim, layout->width().dim))
        add(windows->describe(), window_of_row(*windows, side));
  }
  return groups;
}

// Between which distances of groups the value is the inner one.
struct Limits {
  std::vector<std::optional<int64_t>> low, high;  // by trace; none where nothing lies beyond
};

std::optional<Limits> limits_of(const View& view, const Group& group, double inner, bool causal) {
  Limits limits;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t n = rows_in(view, k), m = columns_in(view, k);
    const auto each_sample = [&](const auto& visit) {
      for (const int64_t i : {int64_t{0}, int64_t{1}, n / 3, n / 2, n - n / 4 - 1, n - 1})
        for (int64_t j = 0; j < m && i >= 0 && i < n; ++j)
          if (!causal || j <= i)
            visit(group.rows[k][static_cast<size_t>(i)] - group.columns[k][static_cast<size_t>(j)],
                  entry_of(view, k, i, j) == inner);
    };
    const auto band = math::band_of(each_sample);
    if (!band) return std::nullopt;
    limits.low.push_back(band->low);
    limits.high.push_back(band->high);
  }
  return limits;
}

// A bound that all traces agree on; `told`: whether there is one.
std::optional<Size> bound_of(const std::vector<std::optional<int64_t>>& at, const View& view, const Solver& solver,
                             bool& told) {
  std::vector<int64_t> known;
  for (const auto& each : at)
    if (each) known.push_back(*each);
  told = !known.empty();
  if (!told) return std::nullopt;
  if (std::all_of(known.begin(), known.end(), [&](int64_t v) { return v == known[0]; }))
    return constant_size(known[0], at.size());
  if (known.size() != at.size()) return std::nullopt;
  return solve_count(known, view, solver);
}

std::optional<Sequence> fit_band(const View& view, const Group& group, double inner, double outer, bool causal,
                                 const Solver& solver) {
  const auto limits = limits_of(view, group, inner, causal);
  if (!limits) return std::nullopt;
  bool has_low = false, has_high = false;
  const auto low = bound_of(limits->low, view, solver, has_low), high = bound_of(limits->high, view, solver, has_high);
  if ((has_low && !low) || (has_high && !high) || (!has_low && !has_high)) return std::nullopt;
  const Formula &i = group.of_row, &j = group.of_column;
  Formula inside;
  std::string text;
  if (has_low && has_high && low->dim.is_constant(0) && high->dim.is_constant(0)) {
    inside = equal(i, j);
    text = fmt::format("both in one of {}", group.name);
  } else {
    const std::string from = has_low ? dim::to_string(low->dim) : "any",
                      to = has_high ? dim::to_string(high->dim) : "any";
    text = fmt::format("{} after the other by {} to {}", group.name, from, to);
    if (has_low) inside = negation(less(i, j + *low));
    if (has_high) inside = has_low ? both(inside, negation(less(j + *high, i))) : negation(less(j + *high, i));
  }
  if (causal) {
    inside = both(inside, negation(less(position(0), position(1))));
    text += ", and not before it";
  }
  const Formula formula = choose(inside, numbers({inner}, view.kind, 0), numbers({outer}, view.kind, 0));
  if (!holds(view, formula, 0, 1)) return std::nullopt;
  return Sequence{fmt::format("{} where {}, else {}", inner, text, outer), formula};
}

}  // namespace

std::optional<Sequence> fit_diagonals(const View& view, TableContext& context) {
  const Size &rows = view.growing[0], &columns = view.growing[1];
  const Formula distance = position(0) - position(1);
  const Key apart{"where index is |row - column|", {{absolute(distance), larger_of(rows, columns)}}};
  const auto half = by_key(view, apart);
  if (auto fit = half ? fit_sequence(*half, context) : std::nullopt) return at_key(std::move(*fit), view, apart);
  const Size last = columns - constant_size(1, view.traces());
  const Key after{"where index is row - column + the last column", {{distance + Formula(last), rows + last}}};
  const auto list = by_key(view, after);
  if (!list) return std::nullopt;
  auto fit = fit_sequence(*list, context);
  if (!fit) return fit_distance_table(*list, view);
  // What comes again counts from any column that is as far from the last one in every trace.
  const Formula from_another = distance + Formula(last.at.front());
  const auto other = substitute(fit->formula, {&from_another, 1});
  if (!last.dim.is_constant() && other && holds(view, *other, 0, 1)) return std::nullopt;
  return at_key(std::move(*fit), view, after);
}

std::optional<std::pair<double, double>> two_values(const View& view) {
  std::vector<double> values;
  for (const auto& list : view.entries) {
    for (const double entry : list) {
      if (std::find(values.begin(), values.end(), entry) != values.end()) continue;
      values.push_back(entry);
      if (values.size() > 2) return std::nullopt;
    }
  }
  return values.size() == 2 ? std::optional(std::pair(values[0], values[1])) : std::nullopt;
}

std::optional<Sequence> fit_mask(const View& view, TableContext& context) {
  const auto values = two_values(view);
  if (!values) return std::nullopt;
  for (const Group& group : possible_groups(view, context)) {
    for (const bool causal : {false, true}) {
      if (auto fit = fit_band(view, group, values->first, values->second, causal, context.solver)) return fit;
      if (auto fit = fit_band(view, group, values->second, values->first, causal, context.solver)) return fit;
    }
  }
  return std::nullopt;
}

std::optional<Sequence> fit_mask_after_first(const View& view, TableContext& context) {
  View body = view.without_entries();
  body.growing[1] = view.growing[1] - constant_size(1, view.traces());
  const double first = view.entries[0].empty() ? 0 : view.entries[0].front();
  for (size_t k = 0; k < view.traces(); ++k) {
    if (columns_in(view, k) < 2 || rows_in(view, k) < 1) return std::nullopt;
    for (int64_t i = 0; i < rows_in(view, k); ++i) {
      if (entry_of(view, k, i, 0) != first) return std::nullopt;
      for (int64_t j = 1; j < columns_in(view, k); ++j) body.entries[k].push_back(entry_of(view, k, i, j));
    }
  }
  const auto fit = fit_mask(body, context);
  if (!fit) return std::nullopt;
  const Formula behind[] = {position(0), larger(position(1) - Formula(1), Formula(0))};
  const auto rest = substitute(fit->formula, behind, 2);
  if (!rest) return std::nullopt;
  const Formula formula = choose(less(position(1), Formula(1)), numbers({first}, view.kind, 0), *rest);
  if (!holds(view, formula, 0, 1)) return std::nullopt;
  return Sequence{fmt::format("{} in the first column, then {}", first, fit->description), formula};
}

}  // namespace thaw::lifting
