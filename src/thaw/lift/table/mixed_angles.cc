// Rotary angles that were learned along both sides of a grid: each column is a cosine or sine of a multiple of the row and another of
// the column (RoPE-Mixed).
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/sinusoid.h"

namespace thaw::lifting {
namespace {

// cos(across * column + down * row), or sin.
struct Mixed {
  bool sine = false;
  double across = 0, down = 0;
  double angle(double row, double column) const { return across * column + down * row; }
  double at(double row, double column) const {
    return sine ? std::sin(angle(row, column)) : std::cos(angle(row, column));
  }
  double slope(double row, double column) const {
    return sine ? std::cos(angle(row, column)) : -std::sin(angle(row, column));
  }
};

struct Cell {
  double row, column, entry;
};

std::vector<Cell> cells_of(const View& view, const Layout& layout, int64_t of) {
  std::vector<Cell> cells;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto &rows = layout.row().at(k), &columns = layout.column().at(k);
    for (size_t r = 0; r < rows.size(); ++r)
      cells.push_back(
          {static_cast<double>(rows[r]), static_cast<double>(columns[r]), view.at(k, static_cast<int64_t>(r), of)});
  }
  return cells;
}

// Entries along one side, from the first one on, that stand at 0 of the other.
std::vector<std::pair<double, double>> entries_along(const std::vector<Cell>& cells, bool down) {
  std::vector<std::pair<double, double>> entries;
  for (const Cell& cell : cells)
    if ((down ? cell.column : cell.row) == 0 && (down ? cell.row : cell.column) > 0)
      entries.emplace_back(down ? cell.row : cell.column, cell.entry);
  std::ranges::sort(entries);
  return entries;
}

// What the entries of one side leave: whole turns are none between cells, and the sign of a cosine's angle is the other side's.
std::vector<double> steps_along(const std::vector<Cell>& cells, bool down, bool sine) {
  const auto entries = entries_along(cells, down);
  if (entries.empty()) return {};
  const double first = std::clamp(entries.front().second, -1.0, 1.0);
  const double base = sine ? std::asin(first) : std::acos(first);
  std::vector<double> steps;
  for (const double guess : {base, sine ? std::numbers::pi - base : -base})
    steps.push_back(guess == 0 ? 0 : angle_near(entries, sine, guess).step);
  return steps;
}

// Both multiples as all cells together tell them. False where they do not: an angle that hardly turns either way.
bool refine(Mixed& mixed, const std::vector<Cell>& cells) {
  constexpr double kRounding = 1e-7, kWithin = 1e-6;  // of an entry; how far a multiple may be from the true one
  double aa = 0, ab = 0, bb = 0;
  for (int step = 0; step < 4; ++step) {
    double a = 0, b = 0;
    aa = ab = bb = 0;
    for (const Cell& cell : cells) {
      const double slope = mixed.slope(cell.row, cell.column), left = cell.entry - mixed.at(cell.row, cell.column);
      const double x = slope * cell.column, y = slope * cell.row;
      aa += x * x;
      ab += x * y;
      bb += y * y;
      a += x * left;
      b += y * left;
    }
    const double det = aa * bb - ab * ab;
    if (!(det > 1e-12 * aa * bb)) return false;
    mixed.across += (bb * a - ab * b) / det;
    mixed.down += (aa * b - ab * a) / det;
  }
  return std::sqrt(std::max(aa, bb) / (aa * bb - ab * ab)) * kRounding <= kWithin;
}

bool gives_cells(const Mixed& mixed, const std::vector<Cell>& cells, const View& view) {
  // Products and their sum were rounded to float32 before the cosine was taken.
  constexpr double kRounding = 1.2e-7;
  return std::ranges::all_of(cells, [&](const Cell& cell) {
    const double turned = std::abs(mixed.across * cell.column) + std::abs(mixed.down * cell.row);
    return std::abs(mixed.at(cell.row, cell.column) - cell.entry) <= view.tolerance + kRounding * turned;
  });
}

std::optional<Mixed> fit_mixed(const View& view, const Layout& layout, int64_t column) {
  const std::vector<Cell> cells = cells_of(view, layout, column);
  for (const bool sine : {false, true}) {
    if (!view.close(cells.front().entry, sine ? 0 : 1)) continue;
    for (const double across : steps_along(cells, false, sine)) {
      for (const double down : steps_along(cells, true, sine)) {
        Mixed mixed{sine, across, down};
        if (refine(mixed, cells) && gives_cells(mixed, cells, view)) return mixed;
      }
    }
  }
  return std::nullopt;
}

// Few cells are met by many an angle.
bool is_told(const View& view, const Layout& layout) {
  constexpr int64_t kFewest = 12, kShortest = 3;
  const auto longest = [](const Size& side) { return std::ranges::max(side.at); };
  int64_t cells = 0;
  for (const int64_t n : view.length().at) cells += n;
  return cells >= kFewest && longest(layout.height()) >= kShortest && longest(layout.width()) >= kShortest &&
         (layout.height() * layout.width()).at == view.length().at;
}

}  // namespace

std::optional<Generated> fit_mixed_angles(const RowTable& table) {
  const View& view = table.view;
  constexpr int64_t kFewestColumns = 2;
  if (view.kind != Kind::kReal || view.width < kFewestColumns) return std::nullopt;
  for (const auto& entries : view.entries)
    if (entries.empty() || std::ranges::any_of(entries, [](double entry) { return !(std::abs(entry) <= 1 + 1e-5); }))
      return std::nullopt;
  for (const LayoutPtr& layout : table.layouts) {
    if (!layout->is_grid() || !is_told(view, *layout)) continue;
    std::vector<Mixed> columns;
    for (int64_t column = 0; column < view.width; ++column) {
      const auto mixed = fit_mixed(view, *layout, column);
      if (!mixed) break;
      columns.push_back(*mixed);
    }
    if (static_cast<int64_t>(columns.size()) < view.width) continue;
    Generated out;
    out.description = fmt::format("cos or sin of multiples of row and column, added, {}", layout->describe());
    for (size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
      std::vector<double> across, down;
      for (end = begin; end < columns.size() && columns[end].sine == columns[begin].sine; ++end) {
        across.push_back(columns[end].across);
        down.push_back(columns[end].down);
      }
      const auto part = [&](const Counter& counter, const std::vector<double>& steps) {
        return as_real(counter.formula()) * numbers(steps, Kind::kReal, view.last_axis());
      };
      const Formula angle = part(layout->column(), across) + part(layout->row(), down);
      out.parts.push_back({columns[begin].sine ? sine(angle) : cosine(angle), static_cast<int64_t>(end - begin)});
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
