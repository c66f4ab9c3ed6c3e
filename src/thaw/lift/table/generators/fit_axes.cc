// Tables with several axes that grow.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/keys/key.h"
#include "thaw/lift/table/keys/separation.h"
#include "thaw/lift/table/table_sizes.h"
#include "thaw/lift/table/waves/wave.h"

namespace thaw::lifting {
namespace {

// Whether the entries of a column change along an axis in some trace: from the first one on, as steps may be too small to tell.
bool depends_on(const View& view, int64_t column, size_t axis) {
  const auto width = static_cast<size_t>(view.width);
  for (size_t k = 0; k < view.traces(); ++k) {
    const size_t stride = strides_of(view, k)[axis], size = static_cast<size_t>(view.growing[axis].at[k]);
    const std::vector<double>& entries = view.entries[k];
    for (size_t block = 0; size > 1 && block < entries.size(); block += stride * size)
      for (size_t at = block + stride + static_cast<size_t>(column); at < block + stride * size; at += width)
        if (!view.close(entries[at], entries[block + (at - block) % stride])) return true;
  }
  return false;
}

std::optional<Generated> fit_side(const Given& side) {
  return side.view.growing.size() > 1 ? fit_together(side) : fit_list(side);
}

std::optional<Generated> fit_separate(const Given& table, Through through) {
  return fit_separate(table, through, Steps::kNone, fit_side);
}

bool has_middle(const View& view) {
  return std::ranges::all_of(view.growing, [](const Size& size) {
    return std::ranges::all_of(size.at, [](int64_t n) { return n % 2 == 1; });
  });
}

// What a position is with the first row or column in front of it.
Formula after_first(int axis) { return larger(position(axis) - Formula(1), Formula(0)); }

// The one formula of all columns.
std::optional<Formula> whole_formula(const std::optional<Generated>& fit, const View& of,
                                     std::span<const Formula> places, int columns) {
  if (!fit || fit->parts.size() != 1 || fit->parts.front().columns != of.width) return std::nullopt;
  return substitute(fit->parts.front().formula, places, columns);
}

// The only entries of a row and a column, in all traces: sizes, or what is the same in all.
std::optional<Formula> corner_of(const View& view, const TableContext& context) {
  std::vector<double> first;
  for (int64_t c = 0; c < view.width; ++c) first.push_back(view.entries[0][static_cast<size_t>(c)]);
  bool is_same = true, is_whole = view.width == 1;
  std::vector<int64_t> at;
  for (const std::vector<double>& entries : view.entries) {
    for (size_t c = 0; c < first.size(); ++c) is_same &= view.close(entries[c], first[c]);
    is_whole &= entries[0] == std::round(entries[0]);
    at.push_back(is_whole ? std::llround(entries[0]) : 0);
  }
  if (is_same) return numbers(first, view.kind, view.last_axis());
  const auto size = is_whole && view.kind == Kind::kInteger ? solve_size(at, context.solver) : std::nullopt;
  return size ? std::optional(Formula(*size)) : std::nullopt;
}

std::optional<Generated> fit_plain_body(const Given& body) {
  if (auto fit = fit_separate(body, Through::kFirst)) return fit;
  return fit_diagonals(body);
}

}  // namespace

std::optional<Generated> fit_behind_first(const Given& table, Fit& fit_body) {
  const View& view = table.view;
  TableContext& context = table.context;
  const size_t traces = view.traces();
  if (view.growing.size() != 2 || view.kind == Kind::kTruth) return std::nullopt;
  View body = view.without_entries(), top = body, left = body;
  const Size one = constant_size(1, traces), rows = view.growing[0] - one, columns = view.growing[1] - one;
  body.growing = {rows, columns};
  top.growing = {columns};
  left.growing = {rows};
  for (size_t k = 0; k < traces; ++k) {
    const int64_t width = view.growing[1].at[k];
    if (rows.at[k] < 1 || columns.at[k] < 1) return std::nullopt;
    for (int64_t i = 0; i < view.growing[0].at[k]; ++i)
      for (int64_t j = i == 0 ? 1 : 0; j < width; ++j) {
        const auto from = view.entries[k].begin() + (i * width + j) * view.width;
        auto& to = (i == 0 ? top : j == 0 ? left : body).entries[k];
        to.insert(to.end(), from, from + view.width);
      }
  }
  // Only of a grid: else the first row and column are as the others are.
  for (const Size& size : body.growing)
    if (layouts_of(size, context).plain_and_grids().size() < 2) return std::nullopt;
  const auto corner = corner_of(view, context);
  if (!corner) return std::nullopt;
  const Formula across = after_first(1), down = after_first(0), behind[] = {down, across};
  const auto first_row = whole_formula(fit_list({top, context}), top, {&across, 1}, 2);
  const auto first_column = first_row ? whole_formula(fit_list({left, context}), left, {&down, 1}, 2) : std::nullopt;
  if (!first_column) return std::nullopt;
  const auto rest = fit_body({body, context});
  const auto inner = whole_formula(rest, body, behind, 2);
  if (!inner) return std::nullopt;
  const Formula in_row = less(position(0), Formula(1)), in_column = less(position(1), Formula(1));
  const Formula formula =
      choose(in_row, choose(in_column, *corner, *first_row), choose(in_column, *first_column, *inner));
  if (!holds(view, formula, 0, view.width)) return std::nullopt;
  Generated out(fmt::format("a first row and column, then {}", rest->description), formula, view.width);
  out.departs = rest->departs;
  return out;
}

std::optional<Generated> fit_sum(const Given& table) { return fit_separate(table, Through::kFirst); }
std::optional<Generated> fit_product(const Given& table) { return fit_separate(table, Through::kLargest); }
std::optional<Generated> fit_sum_through_middle(const Given& table) {
  return has_middle(table.view) ? fit_separate(table, Through::kMiddle) : std::nullopt;
}
std::optional<Generated> fit_diagonals_behind_first(const Given& table) {
  return fit_behind_first(table, fit_plain_body);
}

// True outside of a rectangle: where one axis or another is.
std::optional<Generated> fit_outside(const Given& table) {
  View inside = table.view;
  for (auto& entries : inside.entries)
    for (double& entry : entries) entry = 1 - entry;
  const auto fit = fit_product({inside, table.context});
  if (!fit) return std::nullopt;
  return Generated{"not " + fit->description, negation(fit->formula())};
}

// Else these would be a formula for each column.
std::optional<Generated> fit_combinations_of_axes(const Given& table) {
  const auto depends_on_all = [&](int64_t column) {
    for (size_t axis = 0; axis < table.view.growing.size(); ++axis)
      if (!depends_on(table.view, column, axis)) return false;
    return true;
  };
  for (int64_t column = 0; column < table.view.width; ++column)
    if (depends_on_all(column)) return fit_learned_combinations(table);
  return std::nullopt;
}

namespace {

// By column, the axes along which it changes.
using AxesOfColumns = std::vector<std::vector<size_t>>;

AxesOfColumns axes_of_columns(const View& view) {
  AxesOfColumns axes(static_cast<size_t>(view.width));
  for (int64_t column = 0; column < view.width; ++column)
    for (size_t axis = 0; axis < view.growing.size(); ++axis)
      if (depends_on(view, column, axis)) axes[static_cast<size_t>(column)].push_back(axis);
  return axes;
}

// Those that change nowhere along the axis of the one before them, or behind: a cosine may turn too slowly for the traces.
AxesOfColumns with_steady_beside(AxesOfColumns axes) {
  const auto follow = [&](size_t j, size_t neighbour) {
    if (axes[j].empty() && axes[neighbour].size() == 1) axes[j] = axes[neighbour];
  };
  for (size_t j = 1; j < axes.size(); ++j) follow(j, j - 1);
  for (size_t j = axes.size(); j-- > 1;) follow(j - 1, j);
  return axes;
}

// Columns along one and the same axis are fitted together.
std::optional<Generated> fit_columns_along(const Given& table, const AxesOfColumns& axes) {
  const View& view = table.view;
  Generated out;
  const std::vector<std::vector<size_t>> starts(view.traces(), std::vector<size_t>(view.growing.size(), 0));
  for (int64_t first = 0, end = 0; first < view.width; first = end) {
    const std::vector<size_t>& along = axes[static_cast<size_t>(first)];
    end = first + 1;
    while (along.size() < 2 && end < view.width && axes[static_cast<size_t>(end)] == along) ++end;
    std::vector<Formula> positions;
    for (const size_t axis : along) positions.push_back(position(static_cast<int>(axis)));
    View part = columns_along(view, first, end - first, along.empty() ? std::vector<size_t>{0} : along, starts);
    if (along.size() < view.growing.size())
      part.sides.insert(part.sides.end(), view.growing.begin(), view.growing.end());
    if (positions.empty()) positions.push_back(position(0));
    auto fit = fit_side({part, table.context});
    if (!fit) return std::nullopt;
    for (const Part& each : fit->parts) {
      const auto formula = substitute(each.formula, positions, view.last_axis());
      if (!formula) return std::nullopt;
      out.parts.push_back({*formula, each.columns});
    }
    if (first == 0) out.description = std::move(fit->description);
  }
  return out;
}

// Whether some columns along one axis are waves, and others beside them turn too slowly for the traces.
bool has_slow_wave_along(const View& view, const AxesOfColumns& axes) {
  const std::vector<std::vector<size_t>> starts(view.traces(), std::vector<size_t>(view.growing.size(), 0));
  for (int64_t first = 0, end = 0; first < view.width; first = end) {
    const std::vector<size_t>& along = axes[static_cast<size_t>(first)];
    end = first + 1;
    while (end < view.width && axes[static_cast<size_t>(end)] == along) ++end;
    if (along.size() == 1 && has_slow_wave(columns_along(view, first, end - first, along, starts))) return true;
  }
  return false;
}

}  // namespace

namespace {

// What one axis tells of the table holds for the others, too.
std::optional<Generated> fit_as_told(const Given& table, const AxesOfColumns& axes) {
  auto fit = fit_columns_along(table, axes);
  return fit && table.context.over_longer ? fit_columns_along(table, axes) : fit;
}

}  // namespace

// Column by column, along the axes that each depends on.
std::optional<Generated> fit_columns_of_axes(const Given& table) {
  const AxesOfColumns axes = axes_of_columns(table.view), joined = with_steady_beside(axes);
  if (joined == axes) return fit_as_told(table, axes);
  if (auto fit = fit_as_told(table, joined)) return fit;
  return has_slow_wave_along(table.view, joined) ? std::nullopt : fit_as_told(table, axes);
}

}  // namespace thaw::lifting
