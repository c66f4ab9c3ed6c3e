// Columns over a grid that are put together from a sequence along its rows and one along its columns.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "thaw/lift/table/key.h"
#include "thaw/lift/table/separation.h"

namespace thaw::lifting {
namespace {

std::optional<Sequence> fit_in_any_way(const View& column, const RowTable& table) {
  if (auto fit = fit_sequence(column, table.context)) return fit;
  for (const CounterPtr& counter : table.counters)
    if (auto fit = fit_sequence_in(column, *counter, table.context)) return fit;
  for (const LayoutPtr& layout : table.layouts) {
    if (!layout->is_grid() || column.kind == Kind::kTruth) continue;
    const Counter* counters[] = {&layout->row(), &layout->column()};
    const auto cells = by_counters(column, counters);
    if (!cells) continue;
    const bool real = column.kind == Kind::kReal;
    auto fit = fit_separate(*cells, table.context, Through::kFirst, Steps::kAlike, fit_sequence);
    if (!fit && real) fit = fit_separate(*cells, table.context, Through::kLargest, Steps::kNone, fit_sequence);
    if (!fit && !real) fit = fit_separate(*cells, table.context, Through::kFirst, Steps::kEach, fit_sequence);
    const Formula places[] = {layout->row().formula(), layout->column().formula()};
    if (const auto formula = fit ? substitute(fit->formula, places) : std::nullopt)
      return Sequence{fmt::format("{}, over {}", fit->description, layout->describe()), *formula};
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
