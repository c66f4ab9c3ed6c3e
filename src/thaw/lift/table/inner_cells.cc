// Tables over the cells of grids of which those near an edge are left out: they hold one value, whatever stands in the others.
//
// Detectors propose no box at a cell whose middle is nearer to an edge than a share of the side: 0.01 in the code of Deformable DETR and of
// RT-DETR. How many cells that are depends on how many there are, so that no count of any level says it; all levels together do.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/key.h"
#include "thaw/lift/table/table_piece.h"

namespace thaw::lifting {
namespace {

constexpr double kMiddle = 0.5;  // of a cell

// What is left out of a side in one trace: so many cells at either end, of so many.
struct Edge {
  int64_t cells, of;
};

// The shares of a side below which cells are left out, as far as the traces say.
struct Shares {
  Edge least = {0, 1}, below = {0, 1};  // the edges that say the most
  double from() const {
    return least.cells == 0 ? 0 : (static_cast<double>(least.cells) - kMiddle) / static_cast<double>(least.of);
  }
  double to() const { return (static_cast<double>(below.cells) + kMiddle) / static_cast<double>(below.of); }
  void narrow(const Edge& edge) {
    const Shares own{edge, edge};
    if (own.from() > from()) least = edge;
    if (own.to() < to()) below = edge;
  }
  bool has(double share) const {
    constexpr double kSlack = 1e-6;
    return share >= from() * (1 - kSlack) && share < to() * (1 - kSlack);
  }
};

// A grid that a level may be, and what is left out of it.
struct Counted {
  LayoutPtr grid;
  std::vector<Edge> edges;
  bool tells;  // whether anything is
};

// Cells of one grid, row by row.
struct Level {
  View view;
  std::vector<Counted> may_be = {};
  const Counted* is = nullptr;  // none where all cells are left out
};

bool holds_only(const View& view, size_t trace, int64_t row, double value) {
  for (int64_t column = 0; column < view.width; ++column)
    if (view.at(trace, row, column) != value) return false;
  return true;
}

bool is_plain_grid(const Layout& layout, const View& view) {
  return layout.is_grid() && layout.block() == 1 && layout.window() == 0 &&
         (layout.height() * layout.width()).at == view.length().at;
}

// What the first cell of a grid holds, where the one in the middle holds something else.
std::optional<double> value_left_out(const View& view, const Layout& grid) {
  for (size_t k = 0; k < view.traces(); ++k) {
    const double value = view.at(k, 0, 0);
    const int64_t middle = grid.height().at[k] / 2 * grid.width().at[k] + grid.width().at[k] / 2;
    if (holds_only(view, k, 0, value) && !holds_only(view, k, middle, value)) return value;
  }
  return std::nullopt;
}

// How many cells are left out at either end of each side; nullopt where these are not all that hold the value.
std::optional<std::vector<Edge>> edges_of(const View& view, const Layout& grid, double value) {
  std::vector<Edge> edges;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t height = grid.height().at[k], width = grid.width().at[k];
    const auto is_left_out = [&](int64_t y, int64_t x) { return holds_only(view, k, y * width + x, value); };
    int64_t above = 0, before = 0;
    while (above < height && is_left_out(above, width / 2)) ++above;
    while (before < width && is_left_out(height / 2, before)) ++before;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const bool is_inner = y >= above && y < height - above && x >= before && x < width - before;
        if (is_left_out(y, x) == is_inner) return std::nullopt;
      }
    edges.push_back({above, height});
    edges.push_back({before, width});
  }
  return edges;
}

// One of these shares: with as few digits as can be, of those the first of 1, 2, 5.
struct Share {
  double value;
  bool is_sure;  // the only power of ten, and no other round number
};
Share written(const Shares& shares) {
  constexpr int kMostPlaces = 6;
  for (const auto& digits : {std::vector{1, 2, 5}, std::vector{3, 4, 6, 7, 8, 9}}) {
    std::vector<double> found;
    bool is_power = false;
    for (const int digit : digits)
      for (int place = 1; place <= kMostPlaces; ++place)
        if (const double share = digit / std::pow(10.0, place); shares.has(share)) {
          is_power |= found.empty() && digit == 1;
          found.push_back(share);
        }
    if (!found.empty()) return {found.front(), is_power && found.size() == 1};
  }
  return {(shares.from() + shares.to()) / 2, false};
}

bool are_alike(const Layout& a, const Layout& b) {
  return dim::symbols_of(a.height().dim) == dim::symbols_of(b.height().dim) &&
         dim::symbols_of(a.width().dim) == dim::symbols_of(b.width().dim);
}

// Takes a grid for each level from one on, sides of the same axes in all, so that one share leaves out what is.
std::optional<Shares> settle(std::vector<Level*>& levels, size_t from, const Shares& shares) {
  if (from == levels.size()) return shares;
  Level& level = *levels[from];
  for (const Counted& each : level.may_be) {
    if (from > 0 && !are_alike(*levels.front()->is->grid, *each.grid)) continue;
    Shares narrowed = shares;
    for (const Edge& edge : each.edges) narrowed.narrow(edge);
    if (narrowed.from() >= narrowed.to()) continue;
    level.is = &each;
    if (const auto settled = settle(levels, from + 1, narrowed)) return settled;
  }
  level.is = nullptr;
  return std::nullopt;
}

Formula is_inner(const Formula& at, const Size& side, double share) {
  const Formula place = in_single(in_single(as_real(at) + real_number(kMiddle)) / as_real(side));
  return both(less(in_single(real_number(share)), place), less(place, in_single(real_number(1 - share))));
}

// How many cells these shares leave out at an end, the smallest and the largest of them.
Size fewest(const Size& side, const Shares& shares) {
  const auto& [cells, of] = shares.least;
  const Size whole = constant_size(of, side.at.size());
  return (side * constant_size(2 * cells - 1, side.at.size()) + whole) / (whole + whole);
}
Size most(const Size& side, const Shares& shares) {
  const auto& [cells, of] = shares.below;
  const Size whole = constant_size(of, side.at.size());
  return ceil_div(side * constant_size(2 * cells + 1, side.at.size()) + whole, whole + whole) -
         constant_size(1, side.at.size());
}

// The sizes for which all shares that the traces allow leave out as much. Where each side leaves out as many cells in every trace, these may
// as well be so many of any side, which no share is of sides shorter or longer than they are there.
std::vector<Limit> limits_of(const std::vector<Level>& levels, const Shares& shares, const Share& share) {
  std::vector<Size> sides;
  std::vector<Edge> edges;
  for (const Level& level : levels) {
    if (!level.is) continue;
    for (const Size& side : {level.is->grid->height(), level.is->grid->width()})
      if (std::ranges::none_of(sides, [&](const Size& known) { return dim::same(known.dim, side.dim); }))
        sides.push_back(side);
    std::ranges::copy(level.is->edges, std::back_inserter(edges));
  }
  const int64_t cells = edges.front().cells;
  std::vector<Limit> limits;
  if (std::ranges::all_of(edges, [&](const Edge& edge) { return edge.cells == cells; })) {
    const auto count = static_cast<double>(cells);
    const auto sizes = std::ranges::minmax(edges, {}, &Edge::of);
    const int64_t from =
                      share.is_sure ? static_cast<int64_t>(std::ceil((count - kMiddle) / share.value)) : sizes.min.of,
                  to = share.is_sure ? static_cast<int64_t>(std::ceil((count + kMiddle) / share.value)) - 1
                                     : sizes.max.of;
    for (const Size& side : sides) {
      limits.push_back({dim::Dim(from), side.dim});
      limits.push_back({side.dim, dim::Dim(to)});
    }
  } else if (!share.is_sure) {
    for (const Size& side : sides) {
      const dim::Dim least = fewest(side, shares).dim, largest = most(side, shares).dim;
      limits.push_back({least, largest});
      limits.push_back({largest, least});
    }
  }
  return limits;
}

// What a column holds in the cells that are not left out: one number, or what their row or column of the grid gives.
std::optional<Generated> fit_inner(const View& column, const Layout& grid, const Formula& inner,
                                   TableContext& context) {
  const int64_t middle = grid.height().at[0] / 2 * grid.width().at[0] + grid.width().at[0] / 2;
  const double number = column.at(0, middle, 0);
  const auto by_none = by_key(column, {"", {{Formula(0), constant_size(1, column.traces())}}}, &inner);
  const auto is_number = [&](const auto& list) { return column.close(list.front(), number); };
  if (by_none && std::ranges::all_of(by_none->entries, is_number))
    return Generated(fmt::format("{:g}", number), numbers({number}, column.kind, 0));
  for (const CounterPtr& counter : grid.counters()) {
    const Key key = key_of(*counter);
    const auto by = by_key(column, key, &inner);
    for (Fit* fit : {fit_linspace, fit_logit})
      if (auto found = by ? fit({*by, context}) : std::nullopt) return at_key(std::move(*found), column, key);
  }
  return std::nullopt;
}

std::optional<TableFit> fit_level(const Level& level, double value, double share, const std::vector<Limit>& limits,
                                  TableContext& context) {
  const View& view = level.view;
  const Formula left_out = numbers({value}, view.kind, 0);
  if (!level.is) return made_of(view, {fmt::format("{:g} everywhere", value), left_out, view.width});
  const Layout& grid = *level.is->grid;
  const Formula inner = both(is_inner(grid.row().formula(), grid.height(), share),
                             is_inner(grid.column().formula(), grid.width(), share));
  std::string text;
  std::vector<Part> parts;
  for (int64_t c = 0; c < view.width; ++c) {
    const View column = column_of(view, c);
    auto found = fit_inner(column, grid, inner, context);
    if (!found) return std::nullopt;
    const Formula all = within(choose(inner, found->formula(), left_out), limits);
    if (!checked(column, all, "")) return std::nullopt;
    if (c == 0) text = std::move(found->description);
    parts.push_back({all, 1});
  }
  return made_of(
      view, Generated(fmt::format("{} in cells whose middles lie from {:g} to {:g} along the sides of {}, else {:g}",
                                  text, share, 1 - share, grid.describe(), value),
                      std::move(parts)));
}

bool holds_nothing_else(const View& view, double value) {
  return std::ranges::all_of(view.entries, [&](const std::vector<double>& list) {
    return std::ranges::all_of(list, [&](double entry) { return entry == value; });
  });
}

std::optional<TableFit> fit_levels(std::vector<Level> levels, size_t axis, TableContext& context) {
  std::optional<double> value;
  std::vector<std::vector<LayoutPtr>> grids;
  for (const Level& level : levels) {
    grids.push_back(layouts_of(level.view.length(), context).plain_and_grids());
    std::erase_if(grids.back(), [&](const LayoutPtr& grid) { return !is_plain_grid(*grid, level.view); });
    for (const LayoutPtr& grid : grids.back())
      if (!value) value = value_left_out(level.view, *grid);
  }
  if (!value) return std::nullopt;
  std::vector<Level*> to_settle;
  for (size_t i = 0; i < levels.size(); ++i) {
    Level& level = levels[i];
    if (holds_nothing_else(level.view, *value)) continue;
    for (const LayoutPtr& grid : grids[i])
      if (auto edges = edges_of(level.view, *grid, *value)) {
        const bool tells = std::ranges::any_of(*edges, [](const Edge& edge) { return edge.cells > 0; });
        level.may_be.push_back({grid, std::move(*edges), tells});
      }
    if (level.may_be.empty()) return std::nullopt;
    to_settle.push_back(&level);
  }
  // Those that tell say which sides the others have.
  std::ranges::stable_partition(to_settle, [](const Level* level) { return level->may_be.front().tells; });
  const auto shares = settle(to_settle, 0, {});
  if (!shares) return std::nullopt;
  const Share share = written(*shares);
  const std::vector<Limit> limits = limits_of(levels, *shares, share);
  std::vector<TableFit> fits;
  for (const Level& level : levels) {
    auto fit = fit_level(level, *value, share.value, limits, context);
    if (!fit) return std::nullopt;
    fits.push_back(std::move(*fit));
  }
  return fits.size() == 1 ? std::move(fits.front()) : join(std::move(fits), axis);
}

}  // namespace

std::optional<TableFit> fit_inner_cells(const View* whole, std::span<const ir::Tensor* const> tensors,
                                        TableContext& context) {
  const auto is_list = [](const View& view) {
    return view.growing.size() == 1 && std::ranges::min(view.length().at) > 0;
  };
  if (whole && is_list(*whole))
    if (auto fit = fit_levels({{*whole}}, 0, context)) return fit;
  for (const PiecesAlong& each : joined_pieces(tensors, context.joined)) {
    std::vector<Level> levels;
    for (const std::vector<ir::Tensor>& piece : each.pieces) {
      std::string reason;
      auto view = view_of(pointers_to(piece), context.solver, reason);
      if (!view || !is_list(*view)) break;
      levels.push_back({std::move(*view)});
    }
    if (levels.size() != each.pieces.size()) continue;
    if (auto fit = fit_levels(std::move(levels), each.axis, context)) return fit;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
