// Tables over the cells of grids of which those near an edge are left out: they hold one value, whatever stands in the others.
//
// Detectors propose no box at a cell whose middle is nearer to an edge than a share of the side: 0.01 in the code of Deformable DETR and of
// RT-DETR. How many cells that are depends on how many there are, so that no count of any level says it; all levels together do. Else as many
// are left out of a side in every trace: a border.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/joined_pieces.h"
#include "thaw/lift/table/keys/key.h"

namespace thaw::lifting {
namespace {

constexpr double kMiddle = 0.5;       // of a cell
constexpr double kKnownShare = 0.01;  // of those that code is known to have

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
  // Whether no other share that people write is one.
  bool are_of_known() const { return has(kKnownShare) && to() < 2 * from(); }
};

// What is left out of one side of a grid, by trace.
struct Margin {
  Size size;
  std::vector<Edge> edges = {};
  bool is_steady() const {
    return std::ranges::all_of(edges, [&](const Edge& edge) { return edge.cells == edges.front().cells; });
  }
};

// A grid that a level may be.
struct Candidate {
  LayoutPtr grid;
  Margin rows, columns;
};

// Cells of one grid, row by row.
struct Level {
  View view;
  std::vector<Candidate> candidates = {};
};

// A grid for each level. Where `shares` has none, each side has a border.
struct Reading {
  std::vector<const Candidate*> grids;
  Shares shares = {};
  bool may_be_borders = true;

  bool may_be_share() const { return shares.from() < shares.to(); }
  void add(const Candidate& grid) {
    grids.push_back(&grid);
    for (const Margin* side : {&grid.rows, &grid.columns}) {
      for (const Edge& edge : side->edges) shares.narrow(edge);
      may_be_borders = may_be_borders && side->is_steady();
    }
  }
};

bool holds_only(const View& view, size_t trace, int64_t row, double value) {
  for (int64_t column = 0; column < view.width; ++column)
    if (view.at(trace, row, column) != value) return false;
  return true;
}

// Of sides that stand side by side in a tensor, where there are any: cells come in the order of what they were.
std::vector<LayoutPtr> plain_grids(const View& view, TableContext& context) {
  std::vector<LayoutPtr> grids;
  if (const auto known = context.grids.find(view.length().at); known != context.grids.end()) {
    for (const auto& [height, width] : known->second)
      grids.push_back(std::make_shared<const Layout>(view.length(), height, width, 1, 0));
    return grids;
  }
  grids = layouts_of(view.length(), context).plain_and_grids();
  std::erase_if(grids, [&](const LayoutPtr& grid) {
    return !grid->is_grid() || grid->block() != 1 || (grid->height() * grid->width()).at != view.length().at;
  });
  return grids;
}

// What the first cell of a grid holds in some trace, where the one in the middle holds something else.
std::vector<double> values_left_out(const View& view, TableContext& context) {
  constexpr size_t kMostOfAnEdge = 4;
  std::vector<double> values;
  for (const LayoutPtr& grid : plain_grids(view, context))
    for (size_t k = 0; k < view.traces() && values.size() < kMostOfAnEdge; ++k) {
      const double value = view.at(k, 0, 0);
      const int64_t middle = grid->height().at[k] / 2 * grid->width().at[k] + grid->width().at[k] / 2;
      if (std::ranges::count(values, value) == 0 && holds_only(view, k, 0, value) &&
          !holds_only(view, k, middle, value))
        values.push_back(value);
    }
  return values;
}

// How many cells are left out at either end of each side; nullopt where these are not all that hold the value, or no other is left.
std::optional<Candidate> read_as(const View& view, LayoutPtr grid, double value) {
  const Size rows = grid->height(), columns = grid->width();
  Candidate out{std::move(grid), {rows}, {columns}};
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t height = out.grid->height().at[k], width = out.grid->width().at[k];
    const auto is_left_out = [&](int64_t y, int64_t x) { return holds_only(view, k, y * width + x, value); };
    int64_t above = 0, before = 0;
    while (above < height && is_left_out(above, width / 2)) ++above;
    while (before < width && is_left_out(height / 2, before)) ++before;
    if (above == height || before == width) return std::nullopt;
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x) {
        const bool is_inner = y >= above && y < height - above && x >= before && x < width - before;
        if (is_left_out(y, x) == is_inner) return std::nullopt;
      }
    out.rows.edges.push_back({above, height});
    out.columns.edges.push_back({before, width});
  }
  return out;
}

bool are_alike(const Layout& a, const Layout& b) {
  return dim::symbols_of(a.height().dim) == dim::symbols_of(b.height().dim) &&
         dim::symbols_of(a.width().dim) == dim::symbols_of(b.width().dim);
}

// All readings, from one level on. The sides of all levels follow the same axes.
void add_readings(const std::vector<Level>& levels, Reading reading, std::vector<Reading>& readings) {
  constexpr size_t kMostReadings = 8;
  if (readings.size() >= kMostReadings) return;
  if (reading.grids.size() == levels.size()) {
    if (reading.shares.from() > 0) readings.push_back(std::move(reading));
    return;
  }
  for (const Candidate& each : levels[reading.grids.size()].candidates) {
    if (!reading.grids.empty() && !are_alike(*reading.grids.front()->grid, *each.grid)) continue;
    Reading next = reading;
    next.add(each);
    if (next.may_be_share() || next.may_be_borders) add_readings(levels, std::move(next), readings);
  }
}

bool are_same_sides(const Reading& a, const Reading& b) {
  return std::ranges::equal(a.grids, b.grids, [](const Candidate* x, const Candidate* y) {
    return x->grid->height().at == y->grid->height().at && x->grid->width().at == y->grid->width().at;
  });
}

// One of these shares: with as few digits as can be, of those the first of 1, 2, 5.
double written(const Shares& shares) {
  constexpr int kMostPlaces = 6;
  if (shares.has(kKnownShare)) return kKnownShare;
  for (const int digit : {1, 2, 5, 3, 4, 6, 7, 8, 9})
    for (int place = 1; place <= kMostPlaces; ++place)
      if (const double share = digit / std::pow(10.0, place); shares.has(share)) return share;
  return (shares.from() + shares.to()) / 2;
}

// Whether the middle of a cell lies as far from both ends as that share of the side.
Formula is_within(const Formula& at, const Size& side, double share) {
  const Formula place = in_single(in_single(as_real(at) + real_number(kMiddle)) / as_real(side));
  return both(less(in_single(real_number(share)), place), less(place, in_single(real_number(1 - share))));
}

Formula is_behind_border(const Formula& at, const Margin& side) {
  const Size border = constant_size(side.edges.front().cells, side.size.at.size());
  return both(negation(less(at, border)), less(at + border, side.size));
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

// The sizes for which all shares that the traces allow leave out as many cells, and as many as a border does, where that may be one.
std::vector<Limit> limits_of(const Reading& reading) {
  std::vector<Limit> limits;
  if (!reading.may_be_share()) return limits;
  const bool is_known = reading.shares.are_of_known();
  const auto add = [&](const Margin& margin) {
    const auto& [size, edges] = margin;
    if (reading.may_be_borders) {
      const auto count = static_cast<double>(edges.front().cells);
      const auto [low, high] = std::ranges::minmax(edges, {}, &Edge::of);
      const auto from = is_known ? static_cast<int64_t>(std::ceil((count - kMiddle) / kKnownShare)) : low.of,
                 to = is_known ? static_cast<int64_t>(std::ceil((count + kMiddle) / kKnownShare)) - 1 : high.of;
      if (from > 1) limits.push_back({dim::Dim(from), size.dim});
      limits.push_back({size.dim, dim::Dim(to)});
    } else if (!is_known) {
      const dim::Dim least = fewest(size, reading.shares).dim, largest = most(size, reading.shares).dim;
      limits.push_back({least, largest});
      limits.push_back({largest, least});
    }
  };
  for (const Candidate* each : reading.grids) {
    add(each->rows);
    add(each->columns);
  }
  return limits;
}

// What a column holds in the cells that are not left out: one number, or what their row or column of the grid gives.
std::optional<Generated> fit_inner(const View& column, const Layout& grid, const Formula& inner,
                                   TableContext& context) {
  const auto by_none = by_key(column, {"", {{Formula(0), constant_size(1, column.traces())}}}, &inner);
  const auto number_in = [](const auto& list) { return list.front(); };
  const double number = by_none ? number_in(by_none->entries.front()) : 0;
  if (by_none &&
      std::ranges::all_of(by_none->entries, [&](double each) { return column.close(each, number); }, number_in))
    return Generated(fmt::format("{:g}", number), numbers({number}, column.kind, 0));
  for (const CounterPtr& counter : grid.counters()) {
    const Key key = key_of(*counter);
    const auto by = by_key(column, key, &inner);
    for (Fit* fit : {fit_linspace, fit_logit})
      if (auto found = by ? fit({*by, context}) : std::nullopt) return at_key(std::move(*found), column, key);
  }
  return std::nullopt;
}

std::optional<TableFit> fit_level(const View& view, const Layout& grid, const Formula& inner, const std::string& where,
                                  double value, const std::vector<Limit>& limits, TableContext& context) {
  const Formula left_out = numbers({value}, view.kind, 0);
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
  return made_of(view, Generated(fmt::format("{} {}, else {:g}", text, where, value), std::move(parts)));
}

std::optional<TableFit> fit_as(const Reading& reading, const std::vector<Level>& levels, double value, size_t axis,
                               TableContext& context) {
  const double share = written(reading.shares);
  const std::vector<Limit> limits = limits_of(reading);
  std::vector<TableFit> fits;
  for (size_t i = 0; i < levels.size(); ++i) {
    const auto& [grid, rows, columns] = *reading.grids[i];
    const Formula &y = grid->row().formula(), &x = grid->column().formula();
    const bool by_share = reading.may_be_share();
    const Formula inner = by_share ? both(is_within(y, rows.size, share), is_within(x, columns.size, share))
                                   : both(is_behind_border(y, rows), is_behind_border(x, columns));
    const std::string where = by_share
                                  ? fmt::format("in cells whose middles lie from {:g} to {:g} along the sides of {}",
                                                share, 1 - share, grid->describe())
                                  : fmt::format("behind a border of {} and {} cells of {}", rows.edges.front().cells,
                                                columns.edges.front().cells, grid->describe());
    auto fit = fit_level(levels[i].view, *grid, inner, where, value, limits, context);
    if (!fit) return std::nullopt;
    fits.push_back(std::move(*fit));
  }
  TableFit fit = fits.size() == 1 ? std::move(fits.front()) : join(std::move(fits), axis);
  fit.leaves_out_cells = true;
  return fit;
}

std::optional<TableFit> fit_levels(std::vector<Level> levels, size_t axis, TableContext& context) {
  std::vector<double> values;
  for (size_t i = 0; i < levels.size() && values.empty(); ++i) values = values_left_out(levels[i].view, context);
  for (const double value : values) {
    for (Level& level : levels) {
      level.candidates.clear();
      for (const LayoutPtr& grid : plain_grids(level.view, context))
        if (auto candidate = read_as(level.view, grid, value)) level.candidates.push_back(std::move(*candidate));
    }
    std::vector<Reading> readings;
    add_readings(levels, {}, readings);
    const Reading* taken = nullptr;
    std::optional<TableFit> fit;
    for (const Reading& reading : readings) {
      if (taken && are_same_sides(*taken, reading)) continue;
      auto other = fit_as(reading, levels, value, axis, context);
      if (other && taken) {
        context.untold = "its cells may be of several grids; a trace of other sides tells";
        return std::nullopt;
      }
      if (!other) continue;
      taken = &reading;
      fit = std::move(other);
    }
    if (fit) return fit;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TableFit> fit_inner_cells(const View* whole, const JoinedPieces& pieces, TableContext& context) {
  const auto is_list = [](const View& view) {
    return view.growing.size() == 1 && view.width > 0 && std::ranges::min(view.length().at) > 0;
  };
  if (whole && is_list(*whole) && !values_left_out(*whole, context).empty())
    if (auto fit = fit_levels({{*whole}}, 0, context)) return fit;
  for (const PiecesAlong& each : pieces.ways()) {
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
