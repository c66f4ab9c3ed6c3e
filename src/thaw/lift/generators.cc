#include "thaw/lift/generators.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace thaw::lift {
namespace {

constexpr double kTolerance = 2e-6;  // of float32 tables, relative to 1 or the entry

bool close(double a, double b, bool exact) {
  return exact ? a == b : std::abs(a - b) <= kTolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

int64_t coordinate_of(const Layout& layout, Coordinate c, size_t trace, size_t row) {
  if (c == Coordinate::kIndex) return static_cast<int64_t>(row);
  return c == Coordinate::kRow ? layout.rows[trace][row] : layout.columns[trace][row];
}

// The column as a function of a coordinate, over all traces: its value at 0, 1, …; nullopt where it is none.
std::optional<std::map<int64_t, double>> as_function(const Rows& rows, size_t column, const Layout& layout,
                                                     Coordinate c) {
  std::map<int64_t, double> values;
  for (size_t k = 0; k < rows.entries.size(); ++k) {
    for (size_t r = 0; r < static_cast<size_t>(layout.lengths[k]); ++r) {
      const double entry = rows.at(k, r, column);
      const auto [known, is_new] = values.emplace(coordinate_of(layout, c, k, r), entry);
      if (!is_new && !close(known->second, entry, rows.is_integer)) return std::nullopt;
    }
  }
  return values;
}

bool matches(const std::map<int64_t, double>& values, bool exact, auto function) {
  return std::all_of(values.begin(), values.end(), [&](const auto& entry) {
    return close(entry.second, function(static_cast<double>(entry.first)), exact);
  });
}

std::optional<ColumnFit> affine(const std::map<int64_t, double>& values, bool exact) {
  const auto &first = *values.begin(), &last = *values.rbegin();
  ColumnFit fit;
  if (last.first != first.first)
    fit.scale = (last.second - first.second) / static_cast<double>(last.first - first.first);
  if (exact && fit.scale != std::round(fit.scale)) return std::nullopt;
  fit.offset = first.second - fit.scale * static_cast<double>(first.first);
  if (!matches(values, exact, [&](double x) { return fit.scale * x + fit.offset; })) return std::nullopt;
  return fit;
}

struct Angle {
  double step = 0;    // of one step of the coordinate
  double weight = 0;  // how well it is known: the inverse of its error, in units of an entry's rounding
};

// At a larger coordinate the angle of a step is better known, up to whole turns, which the smaller ones tell; where the
// function is flat it is not known at all.
std::optional<Angle> angle_of(const std::map<int64_t, double>& values, bool sine) {
  Angle angle;
  for (const auto& [x, entry] : values) {
    if (x < 1) continue;
    const double bounded = std::clamp(entry, -1.0, 1.0), at = static_cast<double>(x);
    const double base = sine ? std::asin(bounded) : std::acos(bounded);
    const double weight = std::sqrt(1 - bounded * bounded) * at;
    if (weight <= angle.weight) continue;
    const double expected = angle.weight > 0 ? angle.step * at : base;
    // All angles with that sine or cosine: the nearest to what is expected.
    double best = base;
    for (const double candidate : {base, sine ? std::numbers::pi - base : -base}) {
      const double turned =
          candidate + 2 * std::numbers::pi * std::round((expected - candidate) / (2 * std::numbers::pi));
      if (std::abs(turned - expected) < std::abs(best - expected)) best = turned;
    }
    angle = {best / at, weight};
  }
  if (angle.weight == 0) return std::nullopt;
  return angle;
}

double value_of(Function f, double x, double scale, double offset) {
  if (f == Function::kAffine) return scale * x + offset;
  return f == Function::kSin ? std::sin(scale * x) : std::cos(scale * x);
}

}  // namespace

std::optional<ColumnFit> fit_column(const Rows& rows, size_t column, const std::vector<Layout>& layouts,
                                    std::span<const Function> functions) {
  for (size_t i = 0; i < layouts.size(); ++i) {
    for (const Coordinate c : {Coordinate::kIndex, Coordinate::kRow, Coordinate::kColumn}) {
      if ((c != Coordinate::kIndex) != layouts[i].is_grid()) continue;
      const auto values = as_function(rows, column, layouts[i], c);
      if (!values) continue;
      for (const Function f : functions) {
        std::optional<ColumnFit> fit;
        if (f == Function::kAffine) {
          fit = affine(*values, rows.is_integer);
        } else if (const auto angle = rows.is_integer ? std::nullopt : angle_of(*values, f == Function::kSin)) {
          fit = ColumnFit{
              .layout = i, .coordinate = c, .function = f, .scale = angle->step, .offset = 0, .weight = angle->weight};
          if (!matches(*values, false, [&](double x) { return value_of(f, x, fit->scale, 0); })) fit.reset();
        }
        if (!fit) continue;
        fit->layout = i;
        fit->coordinate = c;
        return fit;
      }
    }
  }
  return std::nullopt;
}

bool straighten(const Rows& rows, size_t first_column, const std::vector<Layout>& layouts, std::span<ColumnFit> run) {
  if (run.size() < 3 || run.front().function == Function::kAffine) return false;
  // A line through the logarithms, each weighed by how well it is known.
  double sum = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (size_t j = 0; j < run.size(); ++j) {
    if (run[j].scale <= 0) return false;
    // The error of the logarithm is that of the step over the step.
    const double weight = std::pow(run[j].weight * run[j].scale, 2), x = static_cast<double>(j),
                 y = std::log(run[j].scale);
    sum += weight;
    sum_x += weight * x;
    sum_y += weight * y;
    sum_xx += weight * x * x;
    sum_xy += weight * x * y;
  }
  const double spread = sum * sum_xx - sum_x * sum_x;
  if (spread <= 0) return false;
  const double slope = (sum * sum_xy - sum_x * sum_y) / spread, start = (sum_y - slope * sum_x) / sum;
  std::vector<double> scales;
  for (size_t j = 0; j < run.size(); ++j) {
    const double scale = std::exp(start + slope * static_cast<double>(j));
    const auto values = as_function(rows, first_column + j, layouts[run[j].layout], run[j].coordinate);
    if (!values || !matches(*values, false, [&](double x) { return value_of(run[j].function, x, scale, 0); }))
      return false;
    scales.push_back(scale);
  }
  for (size_t j = 0; j < run.size(); ++j) run[j].scale = scales[j];
  return true;
}

std::optional<GridIndexFit> fit_grid_index(const Rows& rows, size_t column, const std::vector<Layout>& layouts,
                                           const Solver& solver) {
  if (!rows.is_integer) return std::nullopt;
  for (size_t i = 0; i < layouts.size(); ++i) {
    const Layout& layout = layouts[i];
    if (!layout.is_grid()) continue;
    std::vector<int64_t> row_steps, column_steps, offsets;
    for (size_t k = 0; k < rows.entries.size(); ++k) {
      // The first entries with another row, and another column, tell the steps.
      const auto whole = [&](size_t r) { return static_cast<int64_t>(rows.at(k, r, column)); };
      int64_t offset = whole(0), row_step = 0, column_step = 0;
      const auto length = static_cast<size_t>(layout.lengths[k]);
      for (size_t r = 1; r < length; ++r) {
        if (layout.rows[k][r] == 0 && layout.columns[k][r] == 1) column_step = whole(r) - offset;
        if (layout.rows[k][r] == 1 && layout.columns[k][r] == 0) row_step = whole(r) - offset;
      }
      bool right = true;
      for (size_t r = 0; r < length && right; ++r)
        right = whole(r) == row_step * layout.rows[k][r] + column_step * layout.columns[k][r] + offset;
      if (!right) break;
      row_steps.push_back(row_step);
      column_steps.push_back(column_step);
      offsets.push_back(offset);
    }
    if (offsets.size() != rows.entries.size()) continue;
    const auto row_step = solver.solve(row_steps), column_step = solver.solve(column_steps),
               offset = solver.solve(offsets);
    if (row_step && column_step && offset) return GridIndexFit{i, *row_step, *column_step, *offset};
  }
  return std::nullopt;
}

namespace {

// Where position i of n falls on a side, its corners first to first and last to last.
struct Position {
  int64_t low, high;
  double rest;
  bool on_entry;  // exactly on one: rounding may put it on either side
};

Position position(int64_t i, int64_t n, int64_t side) {
  const int64_t steps = std::max<int64_t>(n - 1, 1), scaled = i * (side - 1);
  const int64_t low = scaled / steps;
  return {low, std::min(low + 1, side - 1), static_cast<double>(scaled % steps) / static_cast<double>(steps),
          scaled % steps == 0};
}

bool is_corner(const Rows& rows, size_t column, const Layout& layout, const CornerFit& fit) {
  int64_t told = 0, skipped = 0;
  for (size_t k = 0; k < rows.entries.size(); ++k) {
    for (size_t r = 0; r < static_cast<size_t>(layout.lengths[k]); ++r) {
      const Position y = position(layout.rows[k][r], layout.heights[k], fit.side),
                     x = position(layout.columns[k][r], layout.widths[k], fit.side);
      ++(y.on_entry || x.on_entry ? skipped : told);
      if (y.on_entry || x.on_entry) continue;
      const double entry = rows.at(k, r, column);
      if (rows.is_integer) {
        if (entry !=
            static_cast<double>((fit.lower_row ? y.low : y.high) * fit.side + (fit.lower_column ? x.low : x.high)))
          return false;
      } else {
        const double weight = (fit.lower_row ? 1 - y.rest : y.rest) * (fit.lower_column ? 1 - x.rest : x.rest);
        if (std::abs(entry - weight) > 1e-5) return false;
      }
    }
  }
  return told > skipped;
}

}  // namespace

std::optional<std::vector<CornerFit>> fit_corners(const Rows& rows, const std::vector<Layout>& layouts,
                                                  std::span<const int64_t> sides) {
  if (rows.width != 4) return std::nullopt;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (!layouts[i].is_grid()) continue;
    for (const int64_t side : sides) {
      std::vector<CornerFit> fits;
      for (size_t column = 0; column < 4; ++column) {
        for (const auto& [row, across] : {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
          const CornerFit fit{i, side, row, across};
          if (!is_corner(rows, column, layouts[i], fit)) continue;
          fits.push_back(fit);
          break;
        }
        if (fits.size() != column + 1) break;
      }
      if (fits.size() == 4) return fits;
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lift
