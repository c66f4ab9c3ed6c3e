// Tables that no formula gives, but that are parts of one larger table: a lookup table, held at its largest and read row
// by row up to its end (limit.h). Padding goes on for ever.
#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/keys/key.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLargestLookup = int64_t{1} << 24;  // entries

bool same_rows(const View& view, size_t a, int64_t row_a, size_t b, int64_t row_b) {
  for (int64_t c = 0; c < view.width; ++c)
    if (!view.close(view.at(a, row_a, c), view.at(b, row_b, c))) return false;
  return true;
}

void append_row(const View& view, size_t trace, int64_t row, std::vector<double>& out) {
  const auto begin = view.entries[trace].begin() + row * view.width;
  out.insert(out.end(), begin, begin + view.width);
}

int64_t most_of(const std::vector<int64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

Formula rows_at(const View& view, std::vector<double> table, const Formula& index, std::vector<Limit> limits = {}) {
  return look_up_rows(std::move(table), view.width, view.kind, index, std::move(limits));
}

// Rows that are the same in all traces, then one row again and again; or the other way round.
std::optional<Generated> padded(const Given& table, bool at_front) {
  const View& view = table.view;
  const auto row_from = [&](size_t k, int64_t i) { return at_front ? view.length().at[k] - 1 - i : i; };
  // Everything is counted from the end that the table holds.
  int64_t fixed = 0;
  bool told = false;
  for (size_t k = 0; k < view.traces(); ++k) {
    int64_t end = view.length().at[k];
    if (end == 0) return std::nullopt;
    const int64_t padding = row_from(k, end - 1);
    if (!same_rows(view, k, padding, 0, row_from(0, view.length().at[0] - 1))) return std::nullopt;
    while (end > 0 && same_rows(view, k, row_from(k, end - 1), k, padding)) --end;
    if (k > 0 && end != fixed) return std::nullopt;
    fixed = end;
    told |= view.length().at[k] - end > 2;
  }
  if (fixed == 0 || !told || (fixed + 1) * view.width > kLargestLookup) return std::nullopt;
  for (size_t k = 1; k < view.traces(); ++k)
    for (int64_t i = 0; i < fixed; ++i)
      if (!same_rows(view, k, row_from(k, i), 0, row_from(0, i))) return std::nullopt;
  std::vector<double> lookup;
  for (int64_t i = 0; i <= fixed; ++i) append_row(view, 0, row_from(0, i), lookup);
  const Formula from_fixed_end = at_front ? view.length() - constant_size(1, view.traces()) - position(0) : position(0);
  return Generated{fmt::format("{} kept rows {} of padding", fixed, at_front ? "at the end" : "in front"),
                   rows_at(view, std::move(lookup), smaller(from_fixed_end, Formula(fixed))), view.width};
}

// Rows that a key of each tells, over all traces: up to the largest that one of them has. nullopt where two rows of one key differ, a key
// has none, or no trace says again what another said.
std::optional<Generated> fit_kept(const View& view, const Key& key, std::string text) {
  int64_t count = 1;
  Formula index;
  std::vector<Limit> limits;
  for (const Key::Part& part : key.parts) {
    const int64_t most = most_of(part.range.at);
    if (most < 1 || count > kLargestLookup / most) return std::nullopt;
    count *= most;
    const bool grows = !part.range.dim.is_constant();
    if (grows) limits.push_back({part.range.dim, most});
    if (!index) {
      index = part.formula;
    } else {
      // One beyond those that are kept must not be read as one of the next row.
      const Formula place = index * Formula(most) + part.formula;
      index = grows ? choose(less(part.formula, Formula(most)), place, Formula(count)) : place;
    }
  }
  if (count * view.width > kLargestLookup) return std::nullopt;
  std::vector<std::pair<size_t, int64_t>> rows(static_cast<size_t>(count), {view.traces(), 0});
  int64_t again = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t length = view.length().at[k];
    const std::vector<double> at = spread(evaluate(index, all_places({&view.length(), 1}, k)), {&length, 1});
    for (int64_t r = 0; r < length; ++r) {
      const double place = at[static_cast<size_t>(r)];
      if (!(place >= 0 && place < static_cast<double>(count))) return std::nullopt;
      auto& known = rows[static_cast<size_t>(place)];
      if (known.first == view.traces()) {
        known = {k, r};
      } else if (!same_rows(view, known.first, known.second, k, r)) {
        return std::nullopt;
      } else if (known.first != k) {
        ++again;
      }
    }
  }
  if (again < 2) return std::nullopt;
  std::vector<double> table;
  for (const auto& [trace, row] : rows) {
    if (trace == view.traces()) return std::nullopt;
    append_row(view, trace, row, table);
  }
  return Generated{std::move(text), rows_at(view, std::move(table), index, std::move(limits)), view.width};
}

}  // namespace

std::optional<Generated> fit_lookup_by_counter(const Given& table) {
  for (const CounterPtr& counter : table.counters())
    if (auto fit =
            fit_kept(table.view, key_of(*counter),
                     fmt::format("kept entries of {}, known below {}", counter->name(), most_of(counter->range().at))))
      return fit;
  return std::nullopt;
}

// By row and column of a grid, of which the traces hold the upper left corner.
std::optional<Generated> fit_lookup_by_cell(const Given& table) {
  for (const LayoutPtr& layout : table.layouts())
    if (layout->is_grid())
      if (auto fit = fit_kept(table.view, key_of(*layout),
                              fmt::format("kept entries of {}, known up to {} x {}", layout->describe(),
                                          most_of(layout->height().at), most_of(layout->width().at))))
        return fit;
  return std::nullopt;
}

// Cells of a grid that differ by whether they stand in its last row or column, or its first: masks of windows that were
// rolled, whose edges meet the other side. Known at every size.
std::optional<Generated> fit_lookup_by_edge(const Given& table) {
  constexpr int64_t kWide = 16;
  const Size& length = table.view.length();
  std::vector<LayoutPtr> layouts = table.layouts();
  if (table.view.width >= kWide)
    std::ranges::copy(Layouts::grids_of_tensors(length, table.context.solver), std::back_inserter(layouts));
  for (const LayoutPtr& layout : layouts) {
    if (!layout->is_grid()) continue;
    for (const bool first_too : {false, true}) {
      const Size kinds = constant_size(first_too ? 3 : 2, length.at.size()), one = constant_size(1, length.at.size());
      const auto kind = [&](const Formula& at, const Size& side) -> Key::Part {
        const Formula last = equal(at, side - one);
        if (!first_too) return {as_integer(last), kinds};
        return {choose(last, Formula(1), choose(equal(at, Formula(0)), Formula(2), Formula(0))), kinds};
      };
      const Key key{
          "", {kind(layout->row().formula(), layout->height()), kind(layout->column().formula(), layout->width())}};
      if (auto fit =
              fit_kept(table.view, key,
                       fmt::format("{} stored entries, indexed by the {} row and column of {}", first_too ? 9 : 4,
                                   first_too ? "first and last" : "last", layout->describe())))
        return fit;
    }
  }
  return std::nullopt;
}

// Rows that stay between padding: what is learned of near distances, and nothing of far ones.
std::optional<Generated> fit_padded_on_both_sides(const Given& table) {
  constexpr int64_t kFewest = 4;  // rows of padding, on each side of each trace
  const View& view = table.view;
  std::vector<int64_t> fronts;
  int64_t fixed = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t n = view.length().at[k];
    if (n == 0 || !same_rows(view, k, 0, 0, 0)) return std::nullopt;
    int64_t front = 0, back = 0;
    while (front < n && same_rows(view, k, front, 0, 0)) ++front;
    while (back < n - front && same_rows(view, k, n - 1 - back, 0, 0)) ++back;
    if (front < kFewest || back < kFewest || (k > 0 && n - front - back != fixed)) return std::nullopt;
    fixed = n - front - back;
    fronts.push_back(front);
    for (int64_t i = 0; i < fixed; ++i)
      if (!same_rows(view, k, front + i, 0, fronts[0] + i)) return std::nullopt;
  }
  const auto front = solve_size(fronts, table.context.solver);
  if (!front || front->dim.is_constant() || (fixed + 2) * view.width > kLargestLookup) return std::nullopt;
  std::vector<double> lookup;
  for (int64_t i = -1; i <= fixed; ++i) append_row(view, 0, fronts[0] + i, lookup);
  const Formula index = smaller(larger(position(0) - *front + Formula(1), Formula(0)), Formula(fixed + 1));
  return Generated{fmt::format("{} kept rows after {} of padding, and padding", fixed, dim::to_string(front->dim)),
                   rows_at(view, std::move(lookup), index), view.width};
}

std::optional<Generated> fit_padded_behind(const Given& table) { return padded(table, false); }
std::optional<Generated> fit_padded_in_front(const Given& table) { return padded(table, true); }

std::optional<Generated> fit_after_first(const Given& table) {
  constexpr int64_t kMostFirst = 8;
  const View& view = table.view;
  const std::vector<int64_t>& n = view.length().at;
  const int64_t least = *std::min_element(n.begin(), n.end());
  for (int64_t first = 1; first <= std::min(kMostFirst, least - 1); ++first) {
    for (size_t k = 1; k < view.traces(); ++k)
      if (!same_rows(view, k, first - 1, 0, first - 1)) return std::nullopt;
    View rest = view;
    for (size_t k = 0; k < view.traces(); ++k)
      rest.entries[k].erase(rest.entries[k].begin(), rest.entries[k].begin() + first * view.width);
    const Size count = view.length() - constant_size(first, view.traces());
    rest.growing = {count};
    // Only where the rest is a grid, or a length of its own.
    const bool grid = layouts_of(count, table.context).plain_and_grids().size() > 1;
    const auto size = table.context.solver.solve(count.at);
    if (!grid && !(size && dim::same(*size, count.dim))) continue;
    auto fit = fit_rows({rest, table.context});
    if (!fit) continue;
    const Formula later = larger(position(0) - Formula(first), Formula(0));
    const Formula is_first = less(position(0), Formula(first)), index = smaller(position(0), Formula(first - 1));
    Generated out{fmt::format("{} kept rows, then {}", first, fit->description)};
    int64_t begin = 0;
    for (const Part& part : fit->parts) {
      std::vector<double> lookup;
      for (int64_t r = 0; r < first; ++r)
        for (int64_t c = 0; c < part.columns; ++c) lookup.push_back(view.at(0, r, begin + c));
      const auto formula = substitute(part.formula, {&later, 1});
      if (!formula) return std::nullopt;
      out.parts.push_back(
          {choose(is_first, look_up_rows(std::move(lookup), part.columns, view.kind, index), *formula), part.columns});
      begin += part.columns;
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
