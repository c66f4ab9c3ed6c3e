// Rotary angles that were learned along both sides of a grid: each column is a cosine or sine of a multiple of the row and another of
// the column (RoPE-Mixed).
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/waves/wave.h"

namespace thaw::lifting {
namespace {

std::vector<Sample> cells_of(const View& view, const Layout& layout, int64_t of) {
  std::vector<Sample> cells;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto &rows = layout.row().at(k), &columns = layout.column().at(k);
    for (size_t r = 0; r < rows.size(); ++r)
      cells.push_back(
          {static_cast<double>(columns[r]), view.at(k, static_cast<int64_t>(r), of), static_cast<double>(rows[r])});
  }
  return cells;
}

// What the entries at 0 of the other side leave: whole turns are none between cells, and the sign of a cosine's angle is the other side's.
std::vector<double> steps_along(const std::vector<Sample>& cells, bool down, bool sine) {
  std::vector<Sample> samples;
  for (const Sample& cell : cells)
    if ((down ? cell.x : cell.y) == 0 && (down ? cell.y : cell.x) > 0)
      samples.push_back({down ? cell.y : cell.x, cell.entry});
  if (samples.empty()) return {};
  std::ranges::sort(samples, {}, [](const Sample& sample) { return std::pair(sample.x, sample.entry); });
  const double first = std::clamp(samples.front().entry, -1.0, 1.0);
  const double base = sine ? std::asin(first) : std::acos(first);
  std::vector<double> steps;
  for (const double guess : {base, sine ? std::numbers::pi - base : -base})
    steps.push_back(guess == 0 ? 0 : angle_near(samples, sine, guess).step);
  return steps;
}

struct Mixed {
  bool sine = false;
  Wave wave;
};

std::optional<Mixed> fit_mixed(const View& view, const Layout& layout, int64_t column) {
  // Of an entry; how far a multiple may be from the true one: an angle that hardly turns either way is not told.
  constexpr double kRounding = 1e-7, kWithin = 1e-6;
  constexpr int kRounds = 4;
  const std::vector<Sample> cells = cells_of(view, layout, column);
  for (const bool sine : {false, true}) {
    if (!view.close(cells.front().entry, sine ? 0 : 1)) continue;
    for (const double across : steps_along(cells, false, sine)) {
      for (const double down : steps_along(cells, true, sine)) {
        Wave wave = wave_of(sine, across, down);
        const auto grown = refine(wave, cells, kStep | kDown, kRounds);
        if (!grown || *grown * kRounding > kWithin) continue;
        // Products and their sum were rounded one by one.
        const auto is_near = [&](const Sample& cell) {
          return is_near_wave(view, cell.entry, wave.at(cell.x, cell.y),
                              std::abs(wave.step * cell.x) + std::abs(wave.down * cell.y));
        };
        if (std::ranges::all_of(cells, is_near)) return Mixed{sine, wave};
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

std::optional<Generated> fit_mixed_angles(const Given& table) {
  const View& view = table.view;
  if (!are_waves(view) || std::ranges::any_of(view.entries, &std::vector<double>::empty)) return std::nullopt;
  for (const LayoutPtr& layout : table.layouts()) {
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
        across.push_back(columns[end].wave.step);
        down.push_back(columns[end].wave.down);
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
