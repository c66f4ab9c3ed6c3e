// Matrices of averages: how an image of any size is pooled to a fixed number of cells, or to no fewer than such a number.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/averages_matrix.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

// What entry `i` of n weighs in the average of a cell.
Formula average_of(const Formula& i, const Formula& n, const Formula& cell, const Formula& cells) {
  const Formula begin = cell * n / cells;
  const Formula end = (cell * n + n + (cells - Formula(1))) / cells;
  const Formula inside = both(negation(less(i, begin)), less(i, end));
  return choose(inside, real_number(1) / as_real(end - begin), real_number(0));
}

// No fewer cells than a number: as many as the side has, of sides on both sides of it. Of two traces, one would be left to tell
// the number, and one that there is such a number.
std::optional<Size> at_least(const Size& side, const std::vector<int64_t>& cells) {
  std::set<int64_t> kept;
  int64_t least = 0;
  for (size_t k = 0; k < cells.size(); ++k) {
    if (cells[k] == side.at[k]) kept.insert(cells[k]);
    if (cells[k] != side.at[k]) least = cells[k];
  }
  if (kept.size() < 2) return std::nullopt;
  for (size_t k = 0; k < cells.size(); ++k)
    if (std::max(least, side.at[k]) != cells[k]) return std::nullopt;
  return Size{dim::max(side.dim, dim::Dim(least)), cells};
}

}  // namespace

std::optional<TableFit> fit_growing_averages(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                             const Around& around) {
  for (const bool turned : {false, true}) {
    const auto is_it = [&](const ir::Tensor* tensor) { return is_averages_matrix(*tensor, turned); };
    if (!std::ranges::all_of(tensors, is_it)) continue;
    const int of_cells = turned ? 1 : 0, of_side = 1 - of_cells;
    std::vector<int64_t> cells, entries;
    for (const ir::Tensor* tensor : tensors) {
      cells.push_back(tensor->dims[static_cast<size_t>(of_cells)]);
      entries.push_back(tensor->dims[static_cast<size_t>(of_side)]);
    }
    const auto is_same = [&](int64_t count) { return count == cells.front(); };
    if (cells == entries || std::ranges::all_of(cells, is_same)) return std::nullopt;
    const auto side = solve_size(entries, context.solver, around);
    const auto made = side ? at_least(*side, cells) : std::nullopt;
    if (!made) return std::nullopt;
    std::string reason;
    const std::optional<Size> sizes[] = {turned ? side : made, turned ? made : side};
    auto view = view_of(tensors, context.solver, reason, sizes);
    if (!view || view->growing.size() != 2) return std::nullopt;
    const Formula average = average_of(position(of_side), *side, position(of_cells), *made);
    if (!holds(*view, average, 0, 1)) return std::nullopt;
    return TableFit{fmt::format("averages of {} in {} cells", dim::to_string(side->dim), dim::to_string(made->dim)),
                    [form = view->without_entries(), average](TableEmitter& e) {
                      const Part parts[] = {{average, 1}};
                      return emit_parts(form, parts, e);
                    }};
  }
  return std::nullopt;
}

std::optional<Generated> fit_averages(const Given& table) {
  const View& view = table.view;
  const auto is_short = [](const auto& list) { return list.empty() || list.front() <= 0; };
  if (std::ranges::any_of(view.entries, is_short)) return std::nullopt;
  std::vector<double> each;
  for (int64_t cell = 0; cell < view.width; ++cell) each.push_back(static_cast<double>(cell));
  const Formula i = position(0), cell = numbers(std::move(each), Kind::kInteger, view.last_axis());
  const Formula n = view.length(), cells(view.width);
  const Formula average = average_of(i, n, cell, cells);
  if (!holds(view, average, 0, view.width)) return std::nullopt;
  return Generated{fmt::format("averages of {} in {} cells", dim::to_string(view.length().dim), view.width), average,
                   view.width};
}

}  // namespace thaw::lifting
