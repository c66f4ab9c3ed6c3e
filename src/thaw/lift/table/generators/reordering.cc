// Indices into a grid.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

bool same_grid(const Layout& a, const Layout& b) {
  return dim::same(a.height().dim, b.height().dim) && dim::same(a.width().dim, b.width().dim);
}

// How far the rows, or columns, are rolled: the coordinate of the entry that stands first.
std::optional<Size> roll_of(const View& view, int64_t column, const Counter& c, const Solver& solver) {
  Size roll;
  for (size_t k = 0; k < view.traces(); ++k) {
    const double first = view.length().at[k] == 0 ? 0 : view.at(k, 0, column);
    if (!(first >= 0 && first < static_cast<double>(view.length().at[k]))) return std::nullopt;
    roll.at.push_back(c.at_row(k, static_cast<int64_t>(first)));
  }
  return solve_count(std::move(roll.at), view, solver);
}

// Where the entries of one layout stand in another.
std::optional<Formula> fit_order(const View& view, int64_t column, const Layout& from, const Layout& to,
                                 const Solver& solver, std::string& description) {
  const auto down = roll_of(view, column, to.row(), solver), across = roll_of(view, column, to.column(), solver);
  if (!down || !across) return std::nullopt;
  Place place = from.place(position(0));
  if (!down->dim.is_constant(0)) place.row = (place.row + *down) % from.height();
  if (!across->dim.is_constant(0)) place.column = (place.column + *across) % from.width();
  Formula order = to.index(place);
  if (!holds(view, order, column, 1)) return std::nullopt;
  description = fmt::format("where {} stand in {}", from.describe(), to.describe());
  if (!down->dim.is_constant(0) || !across->dim.is_constant(0))
    description += fmt::format(", rolled by {} and {}", dim::to_string(down->dim), dim::to_string(across->dim));
  return order;
}

// row_step * row + column_step * column + offset, the steps sizes of the model.
std::optional<Formula> fit_steps(const View& view, int64_t column, const Layout& layout, const Solver& solver,
                                 std::string& description) {
  Size down, across, offset;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto &rows = layout.row().at(k), &columns = layout.column().at(k);
    // The first entries with another row, and another column, tell the steps.
    const auto whole = [&](size_t r) { return std::llround(view.at(k, static_cast<int64_t>(r), column)); };
    int64_t row_step = 0, column_step = 0;
    for (size_t r = 1; r < rows.size() && (row_step == 0 || column_step == 0); ++r) {
      if (rows[r] == 0 && columns[r] == 1) column_step = whole(r) - whole(0);
      if (rows[r] == 1 && columns[r] == 0) row_step = whole(r) - whole(0);
    }
    for (size_t r = 0; r < rows.size(); ++r)
      if (whole(r) != row_step * rows[r] + column_step * columns[r] + whole(0)) return std::nullopt;
    down.at.push_back(row_step);
    across.at.push_back(column_step);
    offset.at.push_back(rows.empty() ? 0 : whole(0));
  }
  const auto row_step = solver.solve(down.at), column_step = solver.solve(across.at), start = solver.solve(offset.at);
  if (!row_step || !column_step || !start) return std::nullopt;
  down.dim = *row_step;
  across.dim = *column_step;
  offset.dim = *start;
  description = fmt::format("{} * row + {} * column of {}", dim::to_string(*row_step), dim::to_string(*column_step),
                            layout.describe());
  const Place place = layout.place(position(0));
  return place.row * down + place.column * across + offset;
}

}  // namespace

std::optional<Generated> fit_reordering(const Given& table) {
  Generated out;
  for (int64_t column = 0; column < table.view.width; ++column) {
    std::optional<Formula> order;
    for (const LayoutPtr& from : table.layouts()) {
      for (const LayoutPtr& to : table.layouts()) {
        if (order || !from->is_grid() || !to->is_grid() || !same_grid(*from, *to)) continue;
        order = fit_order(table.view, column, *from, *to, table.context.solver, out.description);
      }
    }
    if (!order) return std::nullopt;
    out.parts.push_back({*order, 1});
  }
  return out;
}

std::optional<Generated> fit_grid_indices(const Given& table) {
  Generated out;
  for (int64_t column = 0; column < table.view.width; ++column) {
    std::optional<Formula> index;
    for (const LayoutPtr& layout : table.layouts())
      if (!index && layout->is_grid())
        index = fit_steps(table.view, column, *layout, table.context.solver, out.description);
    if (!index) return std::nullopt;
    out.parts.push_back({*index, 1});
  }
  return out;
}

}  // namespace thaw::lifting
