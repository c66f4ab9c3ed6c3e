// Learned positions that were interpolated before the export: the traces have one table resized, and so has any other
// size. Where a trace has it at its own size, that is the table; else a trace at a larger size tells it (learned_grid.h), or all of
// them together (joint_grid.h).
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/joint_grid.h"
#include "thaw/lift/table/learned_grid.h"

namespace thaw::lifting {
namespace {

constexpr double kTolerance = 2e-5;  // of sums in float32, relative to 1 or the largest entry

// A grid of learned rows: how large it is and where its cells stand, in each trace.
struct Grid {
  Size height, width;
  LayoutPtr layout;             // of a list; none where height and width are axes, or there is one axis
  int64_t first = 0, last = 0;  // rows before it and after it
};

class Fit {
 public:
  Fit(const View& view, const Grid& grid) : view_(view), grid_(grid) {
    for (size_t k = 0; k < view.traces(); ++k) {
      std::vector<int64_t>& rows = rows_.emplace_back();
      const int64_t cells = grid.height.at[k] * grid.width.at[k];
      rows.assign(static_cast<size_t>(cells), 0);
      for (int64_t cell = 0; cell < cells; ++cell) {
        const auto at = static_cast<size_t>(cell);
        const int64_t where =
            grid.layout ? grid.layout->row().at(k)[at] * grid.width.at[k] + grid.layout->column().at(k)[at] : cell;
        rows[static_cast<size_t>(where)] = cell + grid.first;
      }
    }
  }

  // The grid as a trace has it.
  LearnedGrid of(size_t trace) const {
    LearnedGrid out{grid_.height.at[trace], grid_.width.at[trace], view_.width, {}};
    for (const int64_t row : rows_[trace])
      for (int64_t c = 0; c < view_.width; ++c) out.entries.push_back(view_.at(trace, row, c));
    return out;
  }

  // Whether all traces but one have that grid, resized. scale: the largest entry.
  bool fits(const LearnedGrid& learned, const Resizing& method, std::optional<size_t> but, double scale) const {
    for (size_t k = 0; k < view_.traces(); ++k) {
      if (k == but) continue;
      const int64_t height = grid_.height.at[k], width = grid_.width.at[k];
      std::vector<std::vector<Tap>> down, across;
      for (int64_t i = 0; i < height; ++i) down.push_back(taps_at(i, height, learned.height, method));
      for (int64_t i = 0; i < width; ++i) across.push_back(taps_at(i, width, learned.width, method));
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t column = 0; column < width; ++column) {
          for (int64_t c = 0; c < view_.width; ++c) {
            double sum = 0;
            for (const Tap& y : down[static_cast<size_t>(row)])
              for (const Tap& x : across[static_cast<size_t>(column)])
                sum += y.weight * x.weight * learned.at(y.at, x.at, c);
            if (std::abs(sum - entry(k, row, column, c)) > std::max(kTolerance, view_.tolerance) * scale) return false;
          }
        }
      }
    }
    return true;
  }

 private:
  double entry(size_t trace, int64_t row, int64_t column, int64_t c) const {
    return view_.at(trace, rows_[trace][static_cast<size_t>(row * grid_.width.at[trace] + column)], c);
  }

  const View& view_;
  const Grid& grid_;
  std::vector<std::vector<int64_t>> rows_;  // by trace: of each cell, row by row
};

// How many rows all traces have in common at one end.
int64_t common_rows(const View& view, bool at_end) {
  constexpr int64_t kMostCommon = 256;
  int64_t least = kMostCommon;
  for (const int64_t n : view.length().at) least = std::min(least, n);
  for (int64_t i = 0; i < least; ++i)
    for (size_t k = 1; k < view.traces(); ++k)
      for (int64_t c = 0; c < view.width; ++c)
        if (!view.close(view.at(k, at_end ? view.length().at[k] - 1 - i : i, c),
                        view.at(0, at_end ? view.length().at[0] - 1 - i : i, c)))
          return i;
  return least;
}

std::vector<Grid> possible_grids_of(const View& view, TableContext& context) {
  std::vector<Grid> grids;
  if (view.growing.size() == 2) grids.push_back({view.growing[0], view.growing[1], nullptr, 0, 0});
  if (view.growing.size() != 1) return grids;
  constexpr int64_t kMostFirst = 8;
  const int64_t most_first = std::min(kMostFirst, common_rows(view, false)), at_end = common_rows(view, true);
  for (const int64_t last : {int64_t{0}, at_end}) {
    for (int64_t first = 0; first <= most_first; ++first) {
      const bool is_known = last == at_end && at_end == 0 && !grids.empty();
      const auto is_short = [&](int64_t n) { return n <= first + last; };
      if (is_known || std::ranges::any_of(view.length().at, is_short)) break;
      const Size count = view.length() - constant_size(first + last, view.traces());
      for (const LayoutPtr& layout : layouts_of(count, context).plain_and_grids()) {
        // More frames than one would be the grid again and again, which is left to a graph with the interpolation in it.
        if (layout->is_grid() && (layout->height() * layout->width()).at == count.at)
          grids.push_back({layout->height(), layout->width(), layout, first, last});
      }
    }
    if (at_end == 0) break;
  }
  grids.push_back({constant_size(1, view.traces()), view.length(), nullptr, 0, 0});
  return grids;
}

// The learned grid resized as the table is, after the rows before it and before those after it.
TableFit resized(const View& view, const Grid& grid, const Resizing& method, const LearnedGrid& learned,
                 const std::string& source) {
  TableFit out;
  const bool is_list = grid.height.dim.is_constant(1);
  const auto size = [&](const std::string& height, const std::string& width) {
    return is_list ? width : fmt::format("{} x {}", height, width);
  };
  out.description =
      fmt::format("{} interpolation ({}{}) of the {} positions that {}, over {}{}{}", method.mode, method.coordinates,
                  method.misread ? ", with the exporter's rounding of places on entries undone" : "",
                  size(std::to_string(learned.height), std::to_string(learned.width)), source,
                  size(dim::to_string(grid.height.dim), dim::to_string(grid.width.dim)),
                  grid.first == 0 ? "" : fmt::format(", after {} kept rows", grid.first),
                  grid.last == 0 ? "" : fmt::format(", before {} kept rows", grid.last));
  const auto rows = [&](int64_t begin, int64_t count) {
    const auto from = view.entries[0].begin() + begin * view.width;
    return std::vector<float>(from, from + count * view.width);
  };
  const std::vector<float> before = rows(0, grid.first), after = rows(view.length().at[0] - grid.last, grid.last);
  // Channels first.
  std::vector<float> numbers;
  for (int64_t c = 0; c < view.width; ++c)
    for (int64_t row = 0; row < learned.height; ++row)
      for (int64_t column = 0; column < learned.width; ++column)
        numbers.push_back(static_cast<float>(learned.at(row, column, c)));
  const std::vector<int64_t> dims{1, view.width, learned.height, learned.width};
  out.emit = [form = view.without_entries(), grid, method, before, after, numbers, dims](TableEmitter& e) {
    const int64_t channels = form.width;
    ir::Value* sizes = e.concat({e.list({1}), e.list({channels}), e.size(grid.height.dim), e.size(grid.width.dim)}, 0);
    ir::Value* table = e.emit(
        "Resize", {e.floats(dims, numbers), nullptr, nullptr, sizes},
        {{"mode", std::string(method.mode)}, {"coordinate_transformation_mode", std::string(method.coordinates)}});
    table = e.emit("Transpose", {table}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
    if (!grid.layout) return emit_shaped(form, table, e);
    table = e.emit("Reshape", {table, e.list({-1, channels})});
    if (grid.layout->block() > 1) {
      const dim::Dim axes[] = {grid.layout->length().dim};
      const Formula cell = grid.layout->row().formula() * grid.width + grid.layout->column().formula();
      table = e.emit("Gather", {table, emit_formula(cell, axes, e)});
    }
    if (grid.first > 0) table = e.concat({e.floats({grid.first, channels}, before), table}, 0);
    if (grid.last > 0) table = e.concat({table, e.floats({grid.last, channels}, after)}, 0);
    return emit_shaped(form, table, e);
  };
  return out;
}

}  // namespace

std::optional<TableFit> fit_resized(const View& view, TableContext& context) {
  constexpr int64_t kLeastChannels = 2, kMostWork = int64_t{1} << 30;
  if (view.kind != Kind::kReal || view.width < kLeastChannels || view.traces() < 2) return std::nullopt;
  for (const auto& entries : view.entries)
    if (entries.empty()) return std::nullopt;
  double scale = 1;
  for (const auto& entries : view.entries)
    for (const double entry : entries) {
      if (!std::isfinite(entry)) return std::nullopt;
      scale = std::max(scale, std::abs(entry));
    }
  const std::vector<Grid> grids = possible_grids_of(view, context);
  for (const Grid& grid : grids) {
    const Fit fit(view, grid);
    for (size_t native = 0; native < view.traces(); ++native)
      for (const Resizing& method : kResizings)
        if (const LearnedGrid learned = fit.of(native); fit.fits(learned, method, native, scale))
          return resized(view, grid, method, learned, "a trace has");
  }
  // None has it as it was learned: it may be smaller than what a trace has.
  for (const Grid& grid : grids) {
    const Fit fit(view, grid);
    for (size_t k = 0; k < view.traces(); ++k) {
      const LearnedGrid larger = fit.of(k);
      for (const Resizing& method : kResizings) {
        const auto learned = recover(larger, method, scale);
        if (learned && fit.fits(*learned, method, std::nullopt, scale))
          return resized(view, grid, method, *learned, "were learned");
      }
    }
  }
  // None is larger than that: what each leaves open, the others tell.
  int64_t work = kMostWork;
  for (const Grid& grid : grids) {
    if (grid.layout && grid.layout->block() > 1) continue;
    const Fit fit(view, grid);
    std::vector<LearnedGrid> traces;
    for (size_t k = 0; k < view.traces(); ++k) traces.push_back(fit.of(k));
    for (const Resizing& method : kResizings) {
      const auto learned = recover_together(traces, method, scale, work);
      if (learned && fit.fits(*learned, method, std::nullopt, scale))
        return resized(view, grid, method, *learned, "were learned, told by all traces together");
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
