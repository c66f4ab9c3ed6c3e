#include "thaw/lift/table/keys/cell_grids.h"

#include <algorithm>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// How many rows all traces have in common at one end.
int64_t common_rows(const View& view, bool at_end) {
  constexpr int64_t kMostCommon = 256;
  int64_t least = kMostCommon;
  for (const int64_t n : view.length().at) least = std::min(least, n);
  for (int64_t i = 0; i < least; ++i)
    for (size_t k = 1; k < view.traces(); ++k)
      for (int64_t c = 0; c < view.width; ++c)
        if (!view.close(view.at(k, at_end ? view.length().at[k] - 1 - i : i, c),
                        view.at(0, at_end ? view.length().at[0] - 1 - i : i, c)))
          return i;
  return least;
}

std::vector<float> rows_of_first(const View& view, int64_t begin, int64_t count) {
  const auto from = view.entries[0].begin() + begin * view.width;
  return {from, from + count * view.width};
}

}  // namespace

std::vector<CellGrid> possible_cell_grids(const View& view, TableContext& context) {
  std::vector<CellGrid> grids;
  if (view.growing.size() == 2) grids.push_back({view.growing[0], view.growing[1], nullptr, 0, 0});
  if (view.growing.size() != 1) return grids;
  constexpr int64_t kMostFirst = 8;
  const int64_t most_first = std::min(kMostFirst, common_rows(view, false)), at_end = common_rows(view, true);
  for (const int64_t last : {int64_t{0}, at_end}) {
    for (int64_t first = 0; first <= most_first; ++first) {
      const bool is_known = last == at_end && at_end == 0 && !grids.empty();
      const auto is_short = [&](int64_t n) { return n <= first + last; };
      if (is_known || std::ranges::any_of(view.length().at, is_short)) break;
      const Size count = view.length() - constant_size(first + last, view.traces());
      for (const LayoutPtr& layout : layouts_of(count, context).plain_and_grids()) {
        // More frames than one would be the grid again and again, which is left to a graph with the interpolation in it.
        if (layout->is_grid() && (layout->height() * layout->width()).at == count.at)
          grids.push_back({layout->height(), layout->width(), layout, first, last});
      }
    }
    if (at_end == 0) break;
  }
  grids.push_back({constant_size(1, view.traces()), view.length(), nullptr, 0, 0});
  return grids;
}

std::vector<int64_t> CellGrid::rows(size_t trace) const {
  const int64_t cells = height.at[trace] * width.at[trace];
  std::vector<int64_t> rows(static_cast<size_t>(cells), 0);
  for (int64_t cell = 0; cell < cells; ++cell) {
    const auto at = static_cast<size_t>(cell);
    const int64_t where =
        layout ? layout->row().at(trace)[at] * width.at[trace] + layout->column().at(trace)[at] : cell;
    rows[static_cast<size_t>(where)] = cell + first;
  }
  return rows;
}

std::vector<float> rows_before(const View& view, const CellGrid& grid) { return rows_of_first(view, 0, grid.first); }

std::vector<float> rows_after(const View& view, const CellGrid& grid) {
  return grid.last == 0 ? std::vector<float>() : rows_of_first(view, view.length().at[0] - grid.last, grid.last);
}

ir::Value* emit_cells(int64_t width, const CellGrid& grid, ir::Value* cells, const std::vector<float>& before,
                      const std::vector<float>& after, TableEmitter& e) {
  if (!grid.layout) return cells;
  ir::Value* table = e.emit("Reshape", {cells, e.list({-1, width})});
  if (grid.layout->block() > 1) {
    const dim::Dim axes[] = {grid.layout->length().dim};
    const Formula cell = grid.layout->row().formula() * grid.width + grid.layout->column().formula();
    table = e.emit("Gather", {table, emit_formula(cell, axes, e)});
  }
  if (grid.first > 0) table = e.concat({e.floats({grid.first, width}, before), table}, 0);
  if (grid.last > 0) table = e.concat({table, e.floats({grid.last, width}, after)}, 0);
  return table;
}

}  // namespace thaw::lifting
