// Columns over a grid that are put together from a sequence along its rows and one along its columns.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// The column along one side of the grid, where the other coordinate and the frame are those of `anchor`.
std::optional<View> side_of(const View& column, const Counter& along, const Counter& across, const Counter& frame,
                            std::span<const int64_t> anchors) {
  View out = column.without_entries();
  out.growing = {along.range()};
  for (size_t k = 0; k < column.traces(); ++k) {
    const auto &at = along.at(k), &other = across.at(k), &frames = frame.at(k);
    std::vector<double> values(static_cast<size_t>(along.range().at[k]));
    size_t known = 0;
    for (size_t r = 0; r < at.size() && known < values.size(); ++r) {
      if (other[r] != anchors[k] || frames[r] != 0) continue;
      values[static_cast<size_t>(at[r])] = column.entries[k][r];
      ++known;
    }
    if (known != values.size()) return std::nullopt;
    out.entries[k] = std::move(values);
  }
  return out;
}

// What all steps of a sequence of integers are multiples of, in each trace or, for all of them alike, in all; 0 where it is
// of reals, or constant.
std::vector<int64_t> factors_of(const View& sequence, bool alike) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53: a double tells larger integers no longer apart
  std::vector<int64_t> factors(sequence.traces(), 0);
  if (sequence.kind != Kind::kInteger) return factors;
  for (size_t k = 0; k < sequence.traces(); ++k) {
    const auto& list = sequence.entries[k];
    for (const double entry : list) {
      if (!(std::abs(entry - list[0]) <= kMostExact)) return std::vector<int64_t>(sequence.traces(), 0);
      factors[k] = std::gcd(factors[k], static_cast<int64_t>(std::llround(entry - list[0])));
    }
  }
  int64_t common = 0;
  for (const int64_t factor : factors) common = std::gcd(common, factor);
  if (alike) factors.assign(factors.size(), common);
  return factors;
}

enum class SidesJoined : uint8_t { kSum, kSumBySteps, kProduct };

// f(row) + g(column), or f(row) * g(column): each told by one side of the grid. By steps: what rows count in may differ
// from trace to trace.
std::optional<Sequence> fit_sides(const View& column, const Layout& layout, TableContext& context, SidesJoined sides) {
  const bool product = sides == SidesJoined::kProduct;
  const Counter &row = layout.row(), &across = layout.column(), &frame = *layout.counters()[2];
  std::vector<int64_t> top(column.traces(), 0), left(column.traces(), 0);
  std::vector<double> corners;
  for (size_t k = 0; k < column.traces(); ++k) {
    // A product is read where it is largest.
    const auto& list = column.entries[k];
    if (list.empty()) return std::nullopt;
    const auto larger = [](double a, double b) { return std::abs(a) < std::abs(b); };
    const auto at = static_cast<size_t>(product ? std::max_element(list.begin(), list.end(), larger) - list.begin()
                                                : std::ptrdiff_t{0});
    if (product) top[k] = row.at(k)[at];
    if (product) left[k] = across.at(k)[at];
    corners.push_back(list[at]);
    if (product && corners[k] == 0) return std::nullopt;
  }
  auto down = side_of(column, row, across, frame, left), along = side_of(column, across, row, frame, top);
  if (!down || !along) return std::nullopt;
  const std::vector<int64_t> factors = factors_of(*down, sides != SidesJoined::kSumBySteps);
  for (size_t k = 0; k < column.traces(); ++k) {
    const int64_t factor = product ? 0 : factors[k];
    // What rows count in steps of a factor: the rest of the corner is the columns'.
    const double rest =
        factor > 1 ? corners[k] - std::floor(corners[k] / static_cast<double>(factor)) * static_cast<double>(factor)
                   : 0;
    for (double& entry : down->entries[k]) entry -= rest;
    for (double& entry : along->entries[k]) entry = product ? entry / corners[k] : entry - corners[k] + rest;
  }
  // Many grids are no such sum or product: some of their entries tell.
  for (size_t k = 0; k < column.traces(); ++k) {
    const auto &rows = row.at(k), &columns = across.at(k);
    for (size_t r = 0; r < rows.size(); r += std::max<size_t>(1, rows.size() / 64)) {
      const double f = down->entries[k][static_cast<size_t>(rows[r])],
                   g = along->entries[k][static_cast<size_t>(columns[r])];
      if (!column.close(column.entries[k][r], product ? f * g : f + g)) return std::nullopt;
    }
  }
  const auto f = fit_sequence(*down, context), g = f ? fit_sequence(*along, context) : std::nullopt;
  if (!g) return std::nullopt;
  const auto of_row = substitute(f->formula, {&row.formula(), 1}),
             of_column = substitute(g->formula, {&across.formula(), 1});
  if (!of_row || !of_column) return std::nullopt;
  const Formula formula = product ? *of_row * *of_column : *of_row + *of_column;
  if (!holds(column, formula, 0, 1)) return std::nullopt;
  return Sequence{fmt::format("({} down) {} ({} across) {}", f->description, product ? '*' : '+', g->description,
                              layout.describe()),
                  formula};
}

std::optional<Sequence> fit_in_any_way(const View& column, const RowTable& table) {
  if (auto fit = fit_sequence(column, table.context)) return fit;
  for (const CounterPtr& counter : table.counters)
    if (auto fit = fit_sequence_in(column, *counter, table.context)) return fit;
  for (const LayoutPtr& layout : table.layouts) {
    if (!layout->is_grid() || column.kind == Kind::kTruth) continue;
    if (auto fit = fit_sides(column, *layout, table.context, SidesJoined::kSum)) return fit;
    const bool real = column.kind == Kind::kReal;
    if (auto fit = fit_sides(column, *layout, table.context, real ? SidesJoined::kProduct : SidesJoined::kSumBySteps))
      return fit;
  }
  return std::nullopt;
}

using FitColumn = std::function<std::optional<Sequence>(const View&)>;

// Beside columns that are cosines of positions, one that is 1 as far as the traces go may be another that turns too slowly for them: of
// a column alone nothing tells (fit_columns.cc).
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

std::optional<Generated> each_column(const View& view, const FitColumn& fit_one) {
  if (has_slow_wave(view)) return std::nullopt;
  Generated out;
  std::vector<std::pair<View, Formula>> known;  // columns that come again are the same nodes
  size_t last = 0;
  for (int64_t c = 0; c < view.width; ++c) {
    View column = column_of(view, c);
    const auto again =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first.entries == column.entries; });
    const auto index = static_cast<size_t>(again - known.begin());
    if (again != known.end() && index == last) {
      ++out.parts.back().columns;
      continue;
    }
    last = index;
    if (again == known.end()) {
      auto fit = fit_one(column);
      if (!fit) return std::nullopt;
      if (c == 0) out.description = std::move(fit->description);
      known.emplace_back(std::move(column), std::move(fit->formula));
    }
    out.parts.push_back({known[index].second, 1});
  }
  return out;
}

constexpr int64_t kMostComposedColumns = 256;

}  // namespace

std::optional<Generated> fit_lines(const RowTable& table) {
  if (table.view.width == 0 || table.view.width > kMostComposedColumns) return std::nullopt;
  return each_column(table.view, [&](const View& column) { return fit_line_of(column, table.context); });
}

std::optional<Generated> fit_lines_of_cells(const RowTable& table) {
  if (table.view.width == 0 || table.view.width > kMostComposedColumns) return std::nullopt;
  return each_column(table.view, [&](const View& column) -> std::optional<Sequence> {
    RowTable one{column, table.layouts, table.counters, table.context};
    if (const auto fit = fit_columns(one)) return Sequence{fit->description, fit->parts.front().formula};
    for (const LayoutPtr& layout : table.layouts) {
      if (!layout->is_grid()) continue;
      for (const Counter* counter : {&layout->row(), &layout->column()})
        if (auto fit = fit_line_in(column, *counter, table.context)) return fit;
    }
    return std::nullopt;
  });
}

std::optional<Generated> fit_sequences(const RowTable& table) {
  if (table.view.width == 0 || table.view.width > kMostComposedColumns) return std::nullopt;
  return each_column(table.view, [&](const View& column) { return fit_in_any_way(column, table); });
}

}  // namespace thaw::lifting
