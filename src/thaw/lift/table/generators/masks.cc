// Tables between two axes: functions of the distance of two positions, and masks between groups of them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/keys/key.h"
#include "thaw/lift/table/table_sizes.h"
#include "thaw/math/band.h"

namespace thaw::lifting {
namespace {

int64_t rows_in(const View& view, size_t trace) { return view.growing[0].at[trace]; }
int64_t columns_in(const View& view, size_t trace) { return view.growing[1].at[trace]; }
double entry_of(const View& view, size_t trace, int64_t i, int64_t j) {
  return view.entries[trace][static_cast<size_t>(i * columns_in(view, trace) + j)];
}

// What positions are told apart by: a function of a position along either axis, and what it is below along the rows and the columns.
struct Group {
  std::string name;
  Formula of;
  Size rows, columns;
};
Formula of_column(const Group& group) {
  const Formula across = position(1);
  return *substitute(group.of, {&across, 1});
}

// Which of a grid's windows a row of the table lies in.
Group windows_of(std::string name, const Layout& layout, int64_t side) {
  const size_t traces = layout.height().at.size();
  const Size window = constant_size(side, traces);
  const Size down = ceil_div(layout.height(), window), across = ceil_div(layout.width(), window);
  const Place at = layout.place(position(0));
  const Size count = layout.length() / (layout.height() * layout.width()) * down * across;
  return {std::move(name), at.frame * Formula(down * across) + at.row / window * across + at.column / window, count,
          count};
}

// Where a side of a window is cut in each trace, from its end, of windows that grow with their grid and were rolled over its edge: those at
// the edge hold cells of both edges, which must not see each other. What the first cell sees along its row or column tells; nullopt where
// that changes more than once, empty where it never does.
std::optional<std::vector<int64_t>> cuts_of(const View& view, const Layout& layout, bool down) {
  std::vector<int64_t> cuts;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t width = layout.width().at[k], side = down ? layout.height().at[k] : width;
    const auto& entries = view.entries[k];
    if (entries.empty()) return std::nullopt;
    const auto sees = [&](int64_t i) { return entries[static_cast<size_t>(down ? i * width : i)] == entries[0]; };
    int64_t cut = 0;
    while (cut < side && sees(cut)) ++cut;
    for (int64_t i = cut; i < side; ++i)
      if (sees(i)) return std::nullopt;
    if (cut == side) continue;
    if (cuts.size() != k) return std::nullopt;
    cuts.push_back(side - cut);
  }
  if (!cuts.empty() && cuts.size() != view.traces()) return std::nullopt;
  return cuts;
}

// The parts of a grid before and behind such cuts.
void add_parts_of_grids(const View& view, TableContext& context, std::vector<Group>& groups) {
  for (const LayoutPtr& layout : layouts_of(view.growing[0], context).plain_and_grids()) {
    if (!layout->is_grid() || layout->block() > 1) continue;
    if ((layout->height() * layout->width()).at != view.growing[0].at) continue;
    Group parts{"", Formula(0), {}, {}};
    int64_t count = 1;
    bool known = true;
    for (const bool down : {true, false}) {
      const auto cuts = cuts_of(view, *layout, down);
      known &= cuts.has_value();
      if (!known || cuts->empty()) continue;
      const auto rolled = context.solver.solve(*cuts);
      known &= rolled.has_value();
      if (!known) continue;
      const Size& side = down ? layout->height() : layout->width();
      const Formula& at = down ? layout->row().formula() : layout->column().formula();
      parts.of = parts.of * Formula(2) + as_integer(negation(less(at, Formula(side - Size{*rolled, *cuts}))));
      parts.name += fmt::format("{}{} {}", count == 1 ? "" : " and the last ", dim::to_string(*rolled),
                                down ? "rows" : "columns");
      count *= 2;
    }
    if (!known || count == 1) continue;
    parts.name = fmt::format("the parts before and behind the last {} of {}", parts.name, layout->describe());
    parts.rows = parts.columns = constant_size(count, view.traces());
    groups.push_back(std::move(parts));
  }
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
  const Size &rows = view.growing[0], &columns = view.growing[1];
  const bool is_square = rows.at == columns.at;
  if (is_square) add_parts_of_grids(view, context, groups);
  groups.push_back({"positions", position(0), rows, columns});
  // The first groups are told by rows that are alike, or by how far the first column, or row, is.
  std::vector<std::vector<int64_t>> runs(3);
  size_t largest = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    runs[0].push_back(first_rows_alike(view, k));
    runs[1].push_back(first_entries_alike(view, k, 0));
    runs[2].push_back(first_entries_alike(view, k, 1));
    if (rows.at[k] > rows.at[largest]) largest = k;
  }
  const auto add_runs = [&](const Size& run) {
    groups.push_back({fmt::format("groups of {}", dim::to_string(run.dim)), position(0) / Formula(run),
                      ceil_div(rows, run), ceil_div(columns, run)});
  };
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    if ((*run)[largest] < 2 || std::find(runs.begin(), run, *run) != run) continue;
    const auto solved = solve_count(*run, view, context.solver);
    if (solved && !solved->dim.is_constant()) add_runs(*solved);
    // The first column, or row, may see a few groups.
    const int64_t longest = *std::ranges::max_element(*run);
    for (const int64_t seen : {1, 2, 3})
      if (longest % seen == 0 && longest / seen > 1) add_runs(constant_size(longest / seen, view.traces()));
  }
  if (!dim::same(rows.dim, columns.dim)) return groups;
  Layouts& layouts = layouts_of(rows, context);
  const int64_t run = first_entries_alike(view, largest, 1);
  for (const LayoutPtr& layout : layouts.plain_and_grids()) {
    if (!layout->is_grid()) continue;
    for (const CounterPtr& counter : layout->counters())
      groups.push_back({"the " + counter->name(), counter->formula(), counter->range(), counter->range()});
    const int64_t block = layout->block(), unit = block * block;
    if (run % unit == 0 && run / unit > 1) {
      const int64_t side = run / unit * block;
      groups.push_back(windows_of(fmt::format("windows of {0} x {0} of {1}", side, layout->describe()), *layout, side));
    }
    // In the order of windows, the first run is a whole window.
    const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(run))));
    if (side * side != run || side % block != 0 || side / block < 2) continue;
    for (const LayoutPtr& windows : layouts.windows(side / block))
      if (windows->block() == block && dim::same(windows->height().dim, layout->height().dim) &&
          dim::same(windows->width().dim, layout->width().dim))
        groups.push_back(windows_of(windows->describe(), *windows, side));
  }
  return groups;
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

// One value where two groups are so far apart, as the table by their distance says, another elsewhere.
std::optional<Generated> fit_band(const Given& table, const Group& group, const Formula* only, const View& by,
                                  double inner, double outer) {
  const View& view = table.view;
  const Formula &i = group.of, j = of_column(group);
  std::vector<std::optional<int64_t>> lows, highs;  // by trace; none where nothing lies beyond
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto band = math::band_of([&](const auto& visit) {
      for (size_t at = 0; at < by.entries[k].size(); ++at)
        if (!std::isnan(by.entries[k][at]))
          visit(static_cast<int64_t>(at) - group.columns.at[k] + 1, by.entries[k][at] == inner);
    });
    if (!band) return std::nullopt;
    lows.push_back(band->low);
    highs.push_back(band->high);
  }
  bool has_low = false, has_high = false;
  const Solver& solver = table.context.solver;
  const auto low = bound_of(lows, view, solver, has_low), high = bound_of(highs, view, solver, has_high);
  if ((has_low && !low) || (has_high && !high) || (!has_low && !has_high)) return std::nullopt;
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
  if (only) {
    inside = both(inside, *only);
    text += ", and not before it";
  }
  Formula formula = choose(inside, numbers({inner}, view.kind, 0), numbers({outer}, view.kind, 0));
  // That a few groups all see each other says nothing of those that are farther apart.
  constexpr int64_t kFewGroups = 4;
  const int64_t most = *std::ranges::max_element(group.rows.at);
  const bool is_open = !has_high || (!has_low && !only), has_several = group.rows.at != view.growing[0].at;
  if (is_open && has_several && most <= kFewGroups && group.rows.dim.is_symbolic())
    formula = within(formula, {{group.rows.dim, dim::Dim(most)}});
  return checked(view, formula, fmt::format("{} where {}, else {}", inner, text, outer));
}

}  // namespace

std::optional<Generated> fit_diagonals(const Given& table) {
  const View& view = table.view;
  const Size &rows = view.growing[0], &columns = view.growing[1];
  const Formula distance = position(0) - position(1);
  const Key either_way{"where index is |row - column|", {{absolute(distance), larger_of(rows, columns)}}};
  const auto half = by_key(view, either_way);
  if (auto fit = half ? fit_sequence({*half, table.context}) : std::nullopt)
    return at_key(std::move(*fit), view, either_way);
  const Size last = columns - constant_size(1, view.traces());
  const Key after{"where index is row - column + the last column", {apart(position(0), position(1), rows, columns)}};
  const auto list = by_key(view, after);
  if (!list) return std::nullopt;
  auto fit = fit_sequence({*list, table.context});
  if (!fit) return fit_distance_table(*list, view);
  // What comes again counts from any column that is as far from the last one in every trace.
  const Formula from_another = distance + Formula(last.at.front());
  const auto other = substitute(fit->formula(), {&from_another, 1});
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

std::optional<Generated> fit_mask(const Given& table) {
  const auto values = two_values(table.view);
  if (!values) return std::nullopt;
  const Formula behind = negation(less(position(0), position(1)));
  for (const Group& group : possible_groups(table.view, table.context)) {
    const Key key{group.name, {apart(group.of, of_column(group), group.rows, group.columns)}};
    for (const Formula* only : {static_cast<const Formula*>(nullptr), &behind}) {
      const auto by = by_key(table.view, key, only);
      if (!by) continue;
      if (auto fit = fit_band(table, group, only, *by, values->first, values->second)) return fit;
      if (auto fit = fit_band(table, group, only, *by, values->second, values->first)) return fit;
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
