// Bilinear interpolation from a square of positions over a grid.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/lift/generators.h"

namespace thaw::lift {
namespace {

// Which corner a column names, or weighs.
struct Corner {
  bool lower_row = true, lower_column = true;
};

// Where position i of n falls on a side, its corners first to first and last to last.
struct Position {
  int64_t low, high;
  double rest;
  bool on_entry;  // exactly on one: rounding may put it on either side
};

Position position_on(int64_t i, int64_t n, int64_t side) {
  const int64_t steps = std::max<int64_t>(n - 1, 1), scaled = i * (side - 1);
  const int64_t low = scaled / steps;
  return {low, std::min(low + 1, side - 1), static_cast<double>(scaled % steps) / static_cast<double>(steps),
          scaled % steps == 0};
}

bool is_corner(const View& view, int64_t column, const Layout& layout, int64_t side, const Corner& corner) {
  int64_t told = 0, skipped = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto &rows = layout.at(Coordinate::kRow, k), &columns = layout.at(Coordinate::kColumn, k);
    for (size_t r = 0; r < rows.size(); ++r) {
      const Position y = position_on(rows[r], layout.height().at[k], side),
                     x = position_on(columns[r], layout.width().at[k], side);
      ++(y.on_entry || x.on_entry ? skipped : told);
      if (y.on_entry || x.on_entry) continue;
      const double entry = view.at(k, static_cast<int64_t>(r), column);
      if (view.exact()) {
        if (entry !=
            static_cast<double>((corner.lower_row ? y.low : y.high) * side + (corner.lower_column ? x.low : x.high)))
          return false;
      } else {
        const double weight = (corner.lower_row ? 1 - y.rest : y.rest) * (corner.lower_column ? 1 - x.rest : x.rest);
        if (std::abs(entry - weight) > 1e-5) return false;
      }
    }
  }
  return told > skipped;
}

// Along one axis: the entries before and after a position, and the weight of the one after.
struct Taps {
  Formula low, high, rest;
};

Taps taps_of(const Formula& index, const Size& size, int64_t side) {
  const Formula steps = larger(size - constant_size(1, size.at.size()), Formula(1)), scaled = index * Formula(side - 1);
  Taps taps;
  taps.low = scaled / steps;
  taps.high = smaller(taps.low + Formula(1), Formula(side - 1));
  taps.rest = as_real(scaled) / as_real(steps) - as_real(taps.low);
  return taps;
}

}  // namespace

std::optional<Generated> fit_interpolation(const RowTable& table) {
  const View& view = table.view;
  if (view.width != 4 || view.kind == Kind::kTruth) return std::nullopt;
  std::vector<int64_t>& known = table.context.sides;
  std::vector<int64_t> sides = known;
  if (view.exact()) {
    double largest = 0;
    for (const auto& entries : view.entries)
      for (const double entry : entries) largest = std::max(largest, entry);
    sides.insert(sides.begin(), std::llround(std::ceil(std::sqrt(largest + 1))));
  }
  for (const LayoutPtr& layout : table.layouts) {
    if (!layout->is_grid()) continue;
    for (const int64_t side : sides) {
      std::vector<Corner> corners;
      for (int64_t column = 0; column < 4; ++column) {
        for (const Corner corner : {Corner{true, true}, {true, false}, {false, true}, {false, false}}) {
          if (!is_corner(view, column, *layout, side, corner)) continue;
          corners.push_back(corner);
          break;
        }
        if (corners.size() != static_cast<size_t>(column) + 1) break;
      }
      if (corners.size() != 4) continue;
      if (std::find(known.begin(), known.end(), side) == known.end()) known.push_back(side);
      Generated out;
      out.description = fmt::format("{} of bilinear interpolation from {} x {} positions over {}",
                                    view.exact() ? "corners" : "weights", side, side, layout->describe());
      const Place place = layout->place(position(0));
      const Taps y = taps_of(place.row, layout->height(), side), x = taps_of(place.column, layout->width(), side);
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
  }
  return std::nullopt;
}

}  // namespace thaw::lift
