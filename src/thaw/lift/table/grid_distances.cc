// Learned biases of how far two cells of a grid are apart, by rows and by columns, that were interpolated before the export (BEiT). A class
// token before the cells has biases of its own.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// Of a table [first + cells, first + cells], how its cells stand.
struct GridCells {
  LayoutPtr layout;
  int64_t first;
  Size down, across;  // distances along each side
};

Size distances_of(const Size& side) { return side + side - constant_size(1, side.at.size()); }

// Entries by distances down and across; nullopt where two pairs of cells as far apart differ.
std::optional<View> by_distances(const View& view, const GridCells& cells) {
  View grid = view.without_entries();
  grid.type = ir::DataType::kFloat;
  grid.growing = {cells.down, cells.across};
  grid.dims = {cells.down.dim, cells.across.dim, dim::Dim(view.width)};
  grid.axes = {0, 1};
  const auto width = static_cast<size_t>(view.width);
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto n = static_cast<size_t>(view.growing[0].at[k]), first = static_cast<size_t>(cells.first);
    const auto &rows = cells.layout->row().at(k), &columns = cells.layout->column().at(k);
    const int64_t height = cells.layout->height().at[k], span = cells.across.at[k];
    grid.entries[k].resize(static_cast<size_t>(cells.down.at[k] * span) * width);
    std::vector<bool> known(static_cast<size_t>(cells.down.at[k] * span));
    for (size_t i = first; i < n; ++i) {
      for (size_t j = first; j < n; ++j) {
        const int64_t y = rows[i - first] - rows[j - first] + height - 1,
                      x = columns[i - first] - columns[j - first] + cells.layout->width().at[k] - 1;
        const auto at = static_cast<size_t>(y * span + x);
        for (size_t c = 0; c < width; ++c) {
          const double entry = view.entries[k][(i * n + j) * width + c];
          if (known[at] && !view.close(grid.entries[k][at * width + c], entry)) return std::nullopt;
          if (!known[at]) grid.entries[k][at * width + c] = entry;
        }
        known[at] = true;
      }
    }
  }
  return grid;
}

// What stands in the class token's row, in its column and in both: nullopt where these are not the same everywhere.
std::optional<std::vector<float>> token_biases(const View& view) {
  const auto width = static_cast<size_t>(view.width);
  std::vector<float> biases;
  for (const auto& [i, j] : {std::pair{0, 1}, {1, 0}, {0, 0}})
    for (size_t c = 0; c < width; ++c)
      biases.push_back(
          static_cast<float>(view.entries[0][static_cast<size_t>(i * view.growing[1].at[0] + j) * width + c]));
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto n = static_cast<size_t>(view.growing[0].at[k]);
    const auto is = [&](size_t i, size_t j, size_t which) {
      for (size_t c = 0; c < width; ++c)
        if (!view.close(view.entries[k][(i * n + j) * width + c], biases[which * width + c])) return false;
      return true;
    };
    if (!is(0, 0, 2)) return std::nullopt;
    for (size_t i = 1; i < n; ++i)
      if (!is(0, i, 0) || !is(i, 0, 1)) return std::nullopt;
  }
  return biases;
}

// The row of each pair in the table of distances, after which the token's rows stand.
Formula index_of(const GridCells& cells) {
  const size_t traces = cells.down.at.size();
  const Size one = constant_size(1, traces);
  const auto cell = [&](int axis, const Counter& counter) {
    const Formula at = larger(position(axis) - Formula(cells.first), Formula(0));
    return *substitute(counter.formula(), {&at, 1});
  };
  const Counter &row = cells.layout->row(), &column = cells.layout->column();
  const Formula down = cell(0, row) - cell(1, row) + Formula(cells.layout->height() - one);
  const Formula across = cell(0, column) - cell(1, column) + Formula(cells.layout->width() - one);
  Formula inner = down * Formula(cells.across) + across;
  if (cells.first == 0) return inner;
  const Formula end(cells.down * cells.across);
  const Formula in_row = less(position(0), Formula(1)), in_column = less(position(1), Formula(1));
  return choose(in_row, choose(in_column, end + Formula(2), end), choose(in_column, end + Formula(1), inner));
}

// view: with an axis for either cell; form: what the table is.
std::optional<TableFit> fit_pairs(const View& view, const View& form, TableContext& context) {
  const size_t traces = view.traces();
  for (const int64_t first : {0, 1}) {
    if (std::ranges::any_of(view.growing[0].at, [&](int64_t n) { return n < first + 2; })) return std::nullopt;
    const auto biases = first == 0 ? std::vector<float>() : token_biases(view);
    if (!biases) continue;
    const Size count = view.growing[0] - constant_size(first, traces);
    for (const LayoutPtr& layout : layouts_of(count, context).plain_and_grids()) {
      if (!layout->is_grid() || (layout->height() * layout->width()).at != count.at) continue;
      const GridCells cells{layout, first, distances_of(layout->height()), distances_of(layout->width())};
      const auto grid = by_distances(view, cells);
      auto table = grid ? fit_resized(*grid, context) : std::nullopt;
      if (!table) continue;
      TableFit out{fmt::format("by distances of the cells {}{}, {}", layout->describe(),
                               first == 0 ? "" : " behind a class token", table->description),
                   {}};
      out.emit = [form = form.without_entries(), sides = view.growing, table = std::move(table->emit), biases = *biases,
                  first, index = index_of(cells)](TableEmitter& e) {
        ir::Value* rows = e.emit("Reshape", {table(e), e.list({-1, form.width})});
        if (first > 0) rows = e.concat({rows, e.floats({3, form.width}, biases)}, 0);
        const dim::Dim axes[] = {sides[0].dim, sides[1].dim};
        return emit_shaped(form, e.emit("Gather", {rows, emit_formula(index, axes, e)}), e);
      };
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<TableFit> fit_grid_distances(const View& view, TableContext& context) {
  if (view.kind != Kind::kReal) return std::nullopt;
  if (view.growing.size() == 2 && view.growing[0].at == view.growing[1].at) return fit_pairs(view, view, context);
  if (view.growing.size() != 1) return std::nullopt;
  for (const auto& [rows, columns] : possible_pairs(view.length(), context.solver)) {
    if (rows.at != columns.at) continue;
    View pairs = view;
    pairs.growing = {rows, columns};
    if (auto fit = fit_pairs(pairs, view, context)) return fit;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
