// Learned tables that are laid side by side until they cover a grid, or a list: the embedding of the places in a window (Hiera's, SAM 2's).
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostPeriod = 1024;

// Entries of a trace, as slices across an axis: outer x size x inner.
struct Slices {
  size_t outer = 1, size = 1, inner = 1;
};

Slices slices_of(const View& view, size_t trace, size_t axis) {
  Slices out;
  out.inner = static_cast<size_t>(view.width);
  for (size_t other = 0; other < view.growing.size(); ++other) {
    const auto size = static_cast<size_t>(view.growing[other].at[trace]);
    (other < axis ? out.outer : other == axis ? out.size : out.inner) *= size;
  }
  return out;
}

bool repeats_after(const View& view, size_t trace, size_t axis, size_t period) {
  const Slices s = slices_of(view, trace, axis);
  const auto& list = view.entries[trace];
  for (size_t block = 0; block < s.outer && s.size > period; ++block) {
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(block * s.size * s.inner);
    const auto shift = static_cast<std::ptrdiff_t>(period * s.inner);
    const auto end = begin + static_cast<std::ptrdiff_t>((s.size - period) * s.inner);
    if (!std::equal(begin, end, begin + shift, [&](double a, double b) { return view.close(a, b); })) return false;
  }
  return true;
}

// After how many positions all traces repeat along an axis, twice or more in some of them. 0: never.
int64_t period_of_tiles(const View& view, size_t axis) {
  const std::vector<int64_t>& sizes = view.growing[axis].at;
  const int64_t most = std::min(kMostPeriod, *std::ranges::max_element(sizes) / 2);
  for (int64_t period = 1; period <= most; ++period) {
    bool all = true;
    for (size_t k = 0; k < view.traces() && all; ++k) all = repeats_after(view, k, axis, static_cast<size_t>(period));
    if (all) return period;
  }
  return 0;
}

struct Tiling {
  std::vector<int64_t> periods;  // by axis
  size_t whole = 0;              // a trace that holds a whole tile
};

std::optional<Tiling> tiling_of(const View& view) {
  Tiling out;
  for (size_t axis = 0; axis < view.growing.size(); ++axis) {
    out.periods.push_back(period_of_tiles(view, axis));
    if (out.periods.back() == 0) return std::nullopt;
  }
  const auto holds_all = [&](size_t k) {
    for (size_t axis = 0; axis < out.periods.size(); ++axis)
      if (view.growing[axis].at[k] < out.periods[axis]) return false;
    return true;
  };
  while (out.whole < view.traces() && !holds_all(out.whole)) ++out.whole;
  return out.whole < view.traces() ? std::optional(out) : std::nullopt;
}

// The rows of the tile, in the order of its axes.
std::vector<double> rows_of_tile(const View& view, const Tiling& tiling) {
  std::vector<double> rows;
  std::vector<int64_t> at(tiling.periods.size(), 0);
  for (;;) {
    size_t row = 0;
    for (size_t axis = 0; axis < at.size(); ++axis)
      row = row * static_cast<size_t>(view.growing[axis].at[tiling.whole]) + static_cast<size_t>(at[axis]);
    const auto from = view.entries[tiling.whole].begin() + static_cast<std::ptrdiff_t>(row) * view.width;
    rows.insert(rows.end(), from, from + view.width);
    size_t axis = at.size();
    while (axis-- > 0) {
      if (++at[axis] < tiling.periods[axis]) break;
      at[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return rows;
  }
}

Formula place_in(const Tiling& tiling) {
  Formula place(0);
  for (size_t axis = 0; axis < tiling.periods.size(); ++axis)
    place = place * Formula(tiling.periods[axis]) + position(static_cast<int>(axis)) % Formula(tiling.periods[axis]);
  return place;
}

}  // namespace

std::optional<Generated> fit_tiled(const Given& table) {
  const View& view = table.view;
  const auto is_empty = [](const auto& list) { return list.empty(); };
  if (std::ranges::any_of(view.entries, is_empty)) return std::nullopt;
  const auto tiling = tiling_of(view);
  if (!tiling) return std::nullopt;
  const Formula formula =
      look_up_rows(rows_of_tile(view, *tiling), view.width, view.kind, place_in(*tiling), {}, view.last_axis());
  if (!holds(view, formula, 0, view.width)) return std::nullopt;
  return Generated{fmt::format("kept entries of {}, again and again", fmt::join(tiling->periods, " x ")), formula,
                   view.width};
}

}  // namespace thaw::lifting
