// Bilinear interpolation from a square of positions over a grid.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLargestCells = int64_t{1} << 20;

// Which corner a column names, or weighs.
struct Corner {
  bool lower_row = true, lower_column = true;
};

// Whether the first and last entries fall on the first and last positions, or cells on cells, centre by centre.
enum class CellScale : uint8_t { kCorners, kCentres };

// Where position i of n falls on a side.
struct Position {
  int64_t low, high;
  double rest;
  bool on_entry;  // exactly on one: rounding may put it on either side
};

Position position_on(int64_t i, int64_t n, int64_t side, CellScale scale) {
  const bool corners = scale == CellScale::kCorners;
  const int64_t steps = corners ? std::max<int64_t>(n - 1, 1) : 2 * n;
  const int64_t scaled = corners ? i * (side - 1) : std::max<int64_t>((2 * i + 1) * side - n, 0);
  const int64_t low = std::min(scaled / steps, side - 1);
  return {low, std::min(low + 1, side - 1), static_cast<double>(scaled % steps) / static_cast<double>(steps),
          scaled % steps == 0};
}

bool is_cell_corner(const View& view, int64_t column, const Layout& layout, int64_t side, CellScale scale,
                    const Corner& corner) {
  int64_t told = 0, skipped = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto &rows = layout.row().at(k), &columns = layout.column().at(k);
    for (size_t r = 0; r < rows.size(); ++r) {
      const Position y = position_on(rows[r], layout.height().at[k], side, scale),
                     x = position_on(columns[r], layout.width().at[k], side, scale);
      ++(y.on_entry || x.on_entry ? skipped : told);
      if (y.on_entry || x.on_entry) continue;
      const double entry = view.at(k, static_cast<int64_t>(r), column);
      if (view.exact()) {
        if (entry !=
            static_cast<double>((corner.lower_row ? y.low : y.high) * side + (corner.lower_column ? x.low : x.high)))
          return false;
      } else {
        const double weight = (corner.lower_row ? 1 - y.rest : y.rest) * (corner.lower_column ? 1 - x.rest : x.rest);
        if (!(std::abs(entry - weight) <= 1e-5)) return false;
      }
    }
  }
  return told > skipped;
}

// Along one axis: the entries before and after a position, and the weight of the one after.
struct Taps {
  Formula low, high, rest;
};

Taps taps_of(const Formula& index, const Size& size, int64_t side, CellScale scale) {
  Formula steps = larger(size - constant_size(1, size.at.size()), Formula(1)), scaled = index * Formula(side - 1);
  if (scale == CellScale::kCentres) {
    steps = Formula(size) * Formula(2);
    scaled = larger((index * Formula(2) + Formula(1)) * Formula(side) - size, Formula(0));
  }
  Taps taps;
  taps.low = scaled / steps;
  taps.high = smaller(taps.low + Formula(1), Formula(side - 1));
  taps.rest = as_real(scaled % steps) / as_real(steps);
  return taps;
}

// Sides of the square that weights speak for, where it is smaller than the grid: two columns add up to the weight along
// one axis, which grows by side / size from entry to entry.
void add_sides(const View& view, const Layout& layout, std::vector<int64_t>& sides) {
  const auto& at = layout.column().at(0);
  const auto n = static_cast<double>(layout.width().at[0]);
  for (const int64_t other : {1, 2}) {
    for (size_t r = at.size() / 2; r + 1 < at.size() && r < at.size() / 2 + 8; ++r) {
      if (at[r + 1] != at[r] + 1) continue;
      const auto row = static_cast<int64_t>(r);
      const double step =
          std::abs(view.at(0, row + 1, 0) + view.at(0, row + 1, other) - view.at(0, row, 0) - view.at(0, row, other));
      for (const double each : {step, 1 - step}) {
        for (const double side : {each * n, each * (n - 1) + 1}) sides.push_back(std::llround(side));
      }
    }
  }
}

std::optional<Generated> fit_square(const View& view, const Layout& layout, int64_t side, CellScale scale) {
  std::vector<Corner> corners;
  for (int64_t column = 0; column < 4; ++column) {
    for (const Corner corner : {Corner{true, true}, {true, false}, {false, true}, {false, false}}) {
      if (!is_cell_corner(view, column, layout, side, scale, corner)) continue;
      corners.push_back(corner);
      break;
    }
    if (corners.size() != static_cast<size_t>(column) + 1) return std::nullopt;
  }
  Generated out;
  out.description =
      fmt::format("{} of bilinear interpolation from {} x {} positions over {}{}", view.exact() ? "corners" : "weights",
                  side, side, layout.describe(), scale == CellScale::kCentres ? ", centre by centre" : "");
  const Place place = layout.place(position(0));
  const Taps y = taps_of(place.row, layout.height(), side, scale),
             x = taps_of(place.column, layout.width(), side, scale);
  const auto weight = [](const Taps& taps, bool lower) { return lower ? real_number(1) - taps.rest : taps.rest; };
  for (const Corner& corner : corners) {
    if (view.exact()) {
      out.parts.push_back(
          {(corner.lower_row ? y.low : y.high) * Formula(side) + (corner.lower_column ? x.low : x.high), 1});
    } else {
      out.parts.push_back({weight(y, corner.lower_row) * weight(x, corner.lower_column), 1});
    }
  }
  return out;
}

}  // namespace

std::optional<Generated> fit_interpolation(const Given& table) {
  const View& view = table.view;
  std::vector<int64_t>& known = table.context.sides;
  std::vector<int64_t> sides = known;
  if (view.exact()) {
    double largest = 0;
    for (const auto& entries : view.entries)
      for (const double entry : entries) largest = std::max(largest, entry);
    sides.insert(sides.begin(), std::llround(std::ceil(std::sqrt(largest + 1))));
  }
  for (const LayoutPtr& layout : table.layouts()) {
    if (!layout->is_grid()) continue;
    std::vector<int64_t> tried = sides;
    if (!view.exact()) add_sides(view, *layout, tried);
    for (const int64_t side : tried) {
      for (const CellScale scale : {CellScale::kCorners, CellScale::kCentres}) {
        if (side < 2 || side > kLargestCells) continue;
        auto generated = fit_square(view, *layout, side, scale);
        if (!generated) continue;
        if (std::find(known.begin(), known.end(), side) == known.end()) known.push_back(side);
        return generated;
      }
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
