// Lists of a few rows for each cell of a grid, cell by cell: anchors of several sizes and shapes, as detectors have them. They are the
// columns of one row for each cell, each a line along its row or its column.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostRows = 32;  // of a cell

// The table with `rows` of its rows in one, as it is computed.
View joined_rows(const View& view, const Size& cells, int64_t rows) {
  View out = view;
  out.growing = {cells};
  out.width = view.width * rows;
  out.type = type_of(view.kind);
  out.dims = {cells.dim, dim::Dim(out.width)};
  out.axes = {0};
  return out;
}

}  // namespace

std::optional<Generated> fit_rows_of_cells(const Given& table) {
  const View& view = table.view;
  const std::vector<int64_t>& lengths = view.length().at;
  for (int64_t rows = 2; rows <= kMostRows; ++rows) {
    if (std::ranges::any_of(lengths, [&](int64_t length) { return length % rows != 0; })) continue;
    const Size cells = view.length() / constant_size(rows, view.traces());
    const auto is_grid = [&](const LayoutPtr& layout) {
      return layout->is_grid() && (layout->height() * layout->width()).at == cells.at;
    };
    if (std::ranges::none_of(layouts_of(cells, table.context).plain_and_grids(), is_grid)) continue;
    const View joined = joined_rows(view, cells, rows);
    auto fit = fit_lines_of_cells({joined, table.context});
    if (!fit) continue;
    return made(view, fmt::format("{} rows for each cell: {}", rows, fit->description),
                [form = joined.without_entries(), parts = std::move(fit->parts)](TableEmitter& e) {
                  return emit_parts(form, parts, e);
                });
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
