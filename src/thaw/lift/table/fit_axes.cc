// Tables with several axes that grow.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

// Steps through the entries of a trace, by growing axis.
std::vector<size_t> strides_of(const View& view, size_t trace) {
  std::vector<size_t> strides(view.growing.size());
  auto stride = static_cast<size_t>(view.width);
  for (size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<size_t>(view.growing[axis].at[trace]);
  }
  return strides;
}

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

// The columns [first, first + count) along some axes, at the start of the others.
View columns_along(const View& view, int64_t first, int64_t count, const std::vector<size_t>& axes) {
  View out = view.without_entries();
  out.width = count;
  out.growing.clear();
  for (const size_t axis : axes) out.growing.push_back(view.growing[axis]);
  for (size_t k = 0; k < view.traces(); ++k) {
    const std::vector<size_t> strides = strides_of(view, k);
    std::vector<double>& entries = out.entries[k];
    const bool empty = view.entries[k].empty();
    std::vector<int64_t> at(axes.size(), 0);
    for (size_t from = static_cast<size_t>(first); !empty;) {
      for (int64_t c = 0; c < count; ++c) entries.push_back(view.entries[k][from + static_cast<size_t>(c)]);
      size_t axis = axes.size();
      while (axis-- > 0) {
        from += strides[axes[axis]];
        if (++at[axis] < out.growing[axis].at[k]) break;
        from -= strides[axes[axis]] * static_cast<size_t>(at[axis]);
        at[axis] = 0;
      }
      if (axis == static_cast<size_t>(-1)) break;
    }
  }
  return out;
}

// f(x) + g(y) + …, told by the lines through the first entry or through the one in the middle, where distances are 0; or their
// product, by those through the largest entry.
enum class Through : uint8_t { kFirst, kMiddle, kLargest };

std::optional<Sequence> fit_separate(const View& view, TableContext& context, Through through) {
  const bool product = through == Through::kLargest;
  std::vector<std::vector<size_t>> anchors;  // by trace: the position on each axis
  std::vector<double> corners;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto& entries = view.entries[k];
    if (entries.empty()) return std::nullopt;
    const auto larger = [](double a, double b) { return std::abs(a) < std::abs(b); };
    auto at = static_cast<size_t>(product ? std::max_element(entries.begin(), entries.end(), larger) - entries.begin()
                                  : through == Through::kMiddle ? static_cast<std::ptrdiff_t>(entries.size() / 2)
                                                                : std::ptrdiff_t{0});
    corners.push_back(entries[at]);
    if (product && corners[k] == 0) return std::nullopt;
    auto& anchor = anchors.emplace_back();
    for (const size_t stride : strides_of(view, k)) {
      anchor.push_back(at / stride);
      at %= stride;
    }
  }
  std::vector<View> sides;
  for (size_t axis = 0; axis < view.growing.size(); ++axis) {
    View& side = sides.emplace_back(view.without_entries());
    side.growing = {view.growing[axis]};
    for (size_t k = 0; k < view.traces(); ++k) {
      const std::vector<size_t> strides = strides_of(view, k);
      size_t from = 0;
      for (size_t other = 0; other < strides.size(); ++other)
        if (other != axis) from += anchors[k][other] * strides[other];
      for (int64_t i = 0; i < view.growing[axis].at[k]; ++i) {
        const double entry = view.entries[k][from + static_cast<size_t>(i) * strides[axis]];
        side.entries[k].push_back(axis == 0 ? entry : product ? entry / corners[k] : entry - corners[k]);
      }
    }
  }
  // Most tables are no such sum or product: some of their entries tell.
  for (size_t k = 0; k < view.traces(); ++k) {
    const std::vector<size_t> strides = strides_of(view, k);
    const size_t step = std::max<size_t>(1, view.entries[k].size() / 61);
    for (size_t entry = 0; entry < view.entries[k].size(); entry += step) {
      double value = product ? 1 : 0;
      size_t at = entry;
      for (size_t axis = 0; axis < strides.size(); ++axis) {
        const double f = sides[axis].entries[k][at / strides[axis]];
        value = product ? value * f : value + f;
        at %= strides[axis];
      }
      if (!view.close(value, view.entries[k][entry])) return std::nullopt;
    }
  }
  Sequence out;
  for (size_t axis = 0; axis < sides.size(); ++axis) {
    auto fit = fit_list(sides[axis], context);
    if (!fit) return std::nullopt;
    const Formula along = position(static_cast<int>(axis));
    const auto formula = substitute(fit->parts.front().formula, {&along, 1});
    if (!formula) return std::nullopt;
    if (axis == 0) {
      out.formula = *formula;
    } else if (view.kind == Kind::kTruth) {
      out.formula = both(out.formula, *formula);
    } else {
      out.formula = product ? out.formula * *formula : out.formula + *formula;
    }
    out.description += fmt::format("{}({})", axis == 0 ? "" : product ? " * " : " + ", fit->description);
  }
  if (!holds(view, out.formula, 0, 1)) return std::nullopt;
  return out;
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

// What a position is with the first row or column in front of it.
Formula after_first(int axis) { return larger(position(axis) - Formula(1), Formula(0)); }

std::optional<Formula> along_after_first(const View& list, int axis, TableContext& context) {
  const auto fit = fit_list(list, context);
  const Formula along = after_first(axis);
  return fit ? substitute(fit->parts.front().formula, {&along, 1}) : std::nullopt;
}

// A row and a column of their own (of a class token) before positions of a grid.
std::optional<Sequence> fit_after_first_pair(const View& view, TableContext& context) {
  const size_t traces = view.traces();
  View body = view.without_entries(), top = body, left = body;
  const Size one = constant_size(1, traces), rows = view.growing[0] - one, columns = view.growing[1] - one;
  body.growing = {rows, columns};
  top.growing = {columns};
  left.growing = {rows};
  std::vector<int64_t> corners;
  for (size_t k = 0; k < traces; ++k) {
    const int64_t width = view.growing[1].at[k];
    if (rows.at[k] < 1 || columns.at[k] < 1 || view.width != 1 || view.entries[k][0] != std::round(view.entries[k][0]))
      return std::nullopt;
    corners.push_back(std::llround(view.entries[k][0]));
    for (int64_t i = 0; i < view.growing[0].at[k]; ++i)
      for (int64_t j = i == 0 ? 1 : 0; j < width; ++j)
        (i == 0 ? top : j == 0 ? left : body).entries[k].push_back(view.entries[k][static_cast<size_t>(i * width + j)]);
  }
  // Only of a grid: else the first row and column are as the others are.
  for (const Size& size : body.growing)
    if (layouts_of(size, context).plain_and_grids().size() < 2) return std::nullopt;
  const auto corner = solve_size(corners, context.solver);
  if (!corner || view.kind == Kind::kTruth) return std::nullopt;
  const auto first_row = along_after_first(top, 1, context), first_column = along_after_first(left, 0, context);
  if (!first_row || !first_column) return std::nullopt;
  auto rest = fit_separate(body, context, Through::kFirst);
  if (!rest) rest = fit_diagonals(body, context);
  if (!rest) return std::nullopt;
  const Formula behind[] = {after_first(0), after_first(1)};
  const auto inner = substitute(rest->formula, behind, 2);
  if (!inner) return std::nullopt;
  const Formula in_row = less(position(0), Formula(1)), in_column = less(position(1), Formula(1));
  const Formula formula =
      choose(in_row, choose(in_column, *corner, *first_row), choose(in_column, *first_column, *inner));
  if (!holds(view, formula, 0, 1)) return std::nullopt;
  return Sequence{fmt::format("a first row and column, then {}", rest->description), formula};
}

}  // namespace

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
    if (auto fit = fit_after_first_pair(view, context)) return fit;
  if (auto fit = fit_separate(view, context, Through::kLargest)) return fit;
  if (numbers && has_middle(view))
    if (auto fit = fit_separate(view, context, Through::kMiddle)) return fit;
  if (auto fit = fit_either(view, context)) return fit;
  if (!pair) return std::nullopt;
  if (auto fit = fit_positions_again(view, context)) return fit;
  if (auto fit = fit_side_by_side(view, context)) return fit;
  return fit_mask_after_first(view, context);
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
  for (int64_t first = 0, end = 0; first < view.width; first = end) {
    // Columns along one and the same axis are fitted together.
    const std::vector<size_t>& along = axes[static_cast<size_t>(first)];
    end = first + 1;
    while (along.size() < 2 && end < view.width && axes[static_cast<size_t>(end)] == along) ++end;
    std::vector<Formula> positions;
    for (const size_t axis : along) positions.push_back(position(static_cast<int>(axis)));
    const View part = columns_along(view, first, end - first, along.empty() ? std::vector<size_t>{0} : along);
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
