// Tables with several axes that grow.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/key.h"
#include "thaw/lift/table/separation.h"
#include "thaw/lift/table/table_sizes.h"

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

std::optional<Sequence> fit_side(const View& side, TableContext& context) {
  if (side.growing.size() > 1) return fit_together(side, context);
  auto fit = fit_list(side, context);
  if (!fit) return std::nullopt;
  return Sequence{std::move(fit->description), fit->parts.front().formula};
}

std::optional<Sequence> fit_separate(const View& view, TableContext& context, Through through) {
  return fit_separate(view, context, through, Steps::kNone, fit_side);
}

// True outside of a rectangle: where one axis or another is.
std::optional<Sequence> fit_either(const View& view, TableContext& context) {
  if (view.kind != Kind::kTruth) return std::nullopt;
  View inside = view;
  for (auto& entries : inside.entries)
    for (double& entry : entries) entry = 1 - entry;
  auto fit = fit_separate(inside, context, Through::kLargest);
  if (!fit) return std::nullopt;
  return Sequence{"not " + fit->description, negation(fit->formula)};
}

bool has_middle(const View& view) {
  return std::ranges::all_of(view.growing, [](const Size& size) {
    return std::ranges::all_of(size.at, [](int64_t n) { return n % 2 == 1; });
  });
}

// After how many positions along an axis the entries change, where each such run is shown as one; 1 where they are no runs.
int64_t run_along(const View& view, size_t axis) {
  int64_t run = 0;
  for (size_t k = 0; k < view.traces(); ++k) {
    const size_t stride = strides_of(view, k)[axis], size = static_cast<size_t>(view.growing[axis].at[k]);
    const std::vector<double>& entries = view.entries[k];
    std::vector<bool> changes(size);
    for (size_t block = 0; block < entries.size(); block += stride * size)
      for (size_t at = block + stride; at < block + stride * size; ++at)
        if (!view.close(entries[at], entries[at - stride])) changes[(at - block) / stride] = true;
    int64_t last = 0, shortest = 0;
    for (int64_t i = 1; i < static_cast<int64_t>(size); ++i) {
      if (!changes[static_cast<size_t>(i)]) continue;
      run = std::gcd(run, i);
      if (last > 0) shortest = shortest == 0 ? i - last : std::min(shortest, i - last);
      last = i;
    }
    if (shortest == 0 || run != shortest) return 1;
  }
  return std::max<int64_t>(run, 1);
}

// Of entries that stay the same for a few positions along each axis: by the runs.
std::optional<Sequence> fit_runs(const View& view, TableContext& context) {
  constexpr int64_t kLongest = 64;
  Key key{"in runs of", {}};
  bool is_shorter = false;
  for (size_t axis = 0; axis < view.growing.size(); ++axis) {
    const int64_t run = run_along(view, axis);
    if (run > kLongest) return std::nullopt;
    is_shorter |= run > 1;
    const Size& size = view.growing[axis];
    key.name += fmt::format(" {}", run);
    key.parts.push_back(
        {position(static_cast<int>(axis)) / Formula(run), ceil_div(size, constant_size(run, view.traces()))});
  }
  const auto by = is_shorter ? by_key(view, key) : std::nullopt;
  auto fit = by ? fit_together(*by, context) : std::nullopt;
  auto whole = fit ? at_key(std::move(*fit), view, key) : std::nullopt;
  return whole && holds(view, whole->formula, 0, 1) ? whole : std::nullopt;
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

std::optional<Generated> fit_plain_body(const View& body, TableContext& context) {
  auto rest = fit_separate(body, context, Through::kFirst);
  if (!rest) rest = fit_diagonals(body, context);
  if (!rest) return std::nullopt;
  return Generated{std::move(rest->description), {{rest->formula, 1}}};
}

}  // namespace

std::optional<Generated> fit_behind_first(const View& view, TableContext& context, const FitTable& fit_body) {
  const size_t traces = view.traces();
  if (view.growing.size() != 2 || view.kind == Kind::kTruth || view.width == 0) return std::nullopt;
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
  const auto first_row = whole_formula(fit_list(top, context), top, {&across, 1}, 2);
  const auto first_column = first_row ? whole_formula(fit_list(left, context), left, {&down, 1}, 2) : std::nullopt;
  if (!first_column) return std::nullopt;
  auto rest = fit_body(body, context);
  const auto inner = whole_formula(rest, body, behind, 2);
  if (!inner) return std::nullopt;
  const Formula in_row = less(position(0), Formula(1)), in_column = less(position(1), Formula(1));
  const Formula formula =
      choose(in_row, choose(in_column, *corner, *first_row), choose(in_column, *first_column, *inner));
  if (!holds(view, formula, 0, view.width)) return std::nullopt;
  return Generated{
      fmt::format("a first row and column, then {}", rest->description), {{formula, view.width}}, rest->departs};
}

std::optional<Sequence> fit_together(const View& view, TableContext& context) {
  const bool numbers = view.kind != Kind::kTruth, pair = view.growing.size() == 2;
  if (numbers)
    if (auto fit = fit_separate(view, context, Through::kFirst)) return fit;
  if (pair)
    if (auto fit = fit_cut_mask(view, context)) return fit;
  if (pair)
    if (auto fit = fit_mask(view, context)) return fit;
  if (pair)
    if (auto fit = fit_diagonals(view, context)) return fit;
  if (pair)
    if (auto fit = fit_behind_first(view, context, fit_plain_body))
      return Sequence{std::move(fit->description), fit->parts.front().formula};
  if (auto fit = fit_separate(view, context, Through::kLargest)) return fit;
  if (numbers && has_middle(view))
    if (auto fit = fit_separate(view, context, Through::kMiddle)) return fit;
  if (auto fit = fit_either(view, context)) return fit;
  if (!pair) return std::nullopt;
  if (auto fit = fit_positions_again(view, context)) return fit;
  if (auto fit = fit_side_by_side(view, context)) return fit;
  if (auto fit = fit_mask_after_first(view, context)) return fit;
  return fit_runs(view, context);
}

std::optional<Generated> fit_axes(const View& view, TableContext& context) {
  constexpr int64_t kMostColumns = 256;
  if (view.width == 0) return std::nullopt;
  std::vector<std::vector<size_t>> axes(static_cast<size_t>(view.width));
  for (int64_t column = 0; column < view.width; ++column)
    for (size_t axis = 0; axis < view.growing.size(); ++axis)
      if (depends_on(view, column, axis)) axes[static_cast<size_t>(column)].push_back(axis);
  // Else these would be a formula for each column.
  if (std::ranges::any_of(axes, [&](const auto& along) { return along.size() == view.growing.size(); }))
    if (auto fit = fit_learned_combinations(view, context)) return fit;
  if (view.width > kMostColumns) return std::nullopt;
  Generated out;
  const std::vector<std::vector<size_t>> starts(view.traces(), std::vector<size_t>(view.growing.size(), 0));
  for (int64_t first = 0, end = 0; first < view.width; first = end) {
    // Columns along one and the same axis are fitted together.
    const std::vector<size_t>& along = axes[static_cast<size_t>(first)];
    end = first + 1;
    while (along.size() < 2 && end < view.width && axes[static_cast<size_t>(end)] == along) ++end;
    std::vector<Formula> positions;
    for (const size_t axis : along) positions.push_back(position(static_cast<int>(axis)));
    const View part = columns_along(view, first, end - first, along.empty() ? std::vector<size_t>{0} : along, starts);
    if (positions.empty()) positions.push_back(position(0));
    std::optional<Generated> fit;
    if (along.size() < 2) {
      fit = fit_list(part, context);
    } else if (auto one = fit_together(part, context)) {
      fit = Generated{std::move(one->description), {{one->formula, 1}}};
    }
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

}  // namespace thaw::lifting
