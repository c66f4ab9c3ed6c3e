// Learned positions that were interpolated before the export: the traces have one table resized, and so has any other
// size. Where a trace has it at its own size, that is the table; else a trace at a larger size tells it (learned_grid.h), or all of
// them together (joint_grid.h).
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/kept/joint_grid.h"
#include "thaw/lift/table/kept/learned_grid.h"
#include "thaw/lift/table/keys/cell_grids.h"

namespace thaw::lifting {
namespace {

constexpr double kResizedTolerance = 2e-5;  // of sums in float32, relative to 1 or the largest entry

class ResizedFit {
 public:
  ResizedFit(const View& view, const CellGrid& grid) : view_(view), grid_(grid) {
    for (size_t k = 0; k < view.traces(); ++k) rows_.push_back(grid.rows(k));
  }

  // The grid as a trace has it.
  LearnedGrid of(size_t trace) const {
    LearnedGrid out{grid_.height.at[trace], grid_.width.at[trace], view_.width, {}};
    for (const int64_t row : rows_[trace])
      for (int64_t c = 0; c < view_.width; ++c) out.entries.push_back(view_.at(trace, row, c));
    return out;
  }

  // Whether both sides are told, and one of them was resized and is of entries that differ.
  bool is_told(const LearnedGrid& learned, const Resizing& method, double scale) const {
    const double near = std::max(kResizedTolerance, view_.tolerance) * scale;
    const auto are_near = [&](bool is_down, int64_t a, int64_t b) {
      for (int64_t other = 0; other < (is_down ? learned.width : learned.height); ++other)
        for (int64_t c = 0; c < view_.width; ++c) {
          const double at_a = is_down ? learned.at(a, other, c) : learned.at(other, a, c);
          const double at_b = is_down ? learned.at(b, other, c) : learned.at(other, b, c);
          if (std::abs(at_a - at_b) > near) return false;
        }
      return true;
    };
    bool is_resized = false;
    for (const bool is_down : {true, false}) {
      const std::vector<int64_t>& lengths = is_down ? grid_.height.at : grid_.width.at;
      const int64_t side = is_down ? learned.height : learned.width;
      const std::vector<int64_t> entries = alike(side, [&](int64_t a, int64_t b) { return are_near(is_down, a, b); });
      if (!are_told(lengths, entries, method)) return false;
      is_resized |= std::ranges::any_of(lengths, [&](int64_t n) { return n != side; }) && std::ranges::max(entries) > 0;
    }
    return is_resized;
  }

  // Whether all traces but one have that grid, resized. scale: the largest entry.
  bool fits(const LearnedGrid& learned, const Resizing& method, std::optional<size_t> but, double scale) const {
    for (size_t k = 0; k < view_.traces(); ++k) {
      if (k == but) continue;
      const int64_t height = grid_.height.at[k], width = grid_.width.at[k];
      std::vector<std::vector<math::Tap>> down, across;
      for (int64_t i = 0; i < height; ++i) down.push_back(taps_at(i, height, learned.height, method));
      for (int64_t i = 0; i < width; ++i) across.push_back(taps_at(i, width, learned.width, method));
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t column = 0; column < width; ++column) {
          for (int64_t c = 0; c < view_.width; ++c) {
            double sum = 0;
            for (const math::Tap& y : down[static_cast<size_t>(row)])
              for (const math::Tap& x : across[static_cast<size_t>(column)])
                sum += y.weight * x.weight * learned.at(y.at, x.at, c);
            if (std::abs(sum - entry(k, row, column, c)) > std::max(kResizedTolerance, view_.tolerance) * scale)
              return false;
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
  const CellGrid& grid_;
  std::vector<std::vector<int64_t>> rows_;  // by trace: of each cell, row by row
};

// Why a grid of which the traces are resized versions is not told by them.
std::string untold(const CellGrid& grid, int64_t height, int64_t width, const Resizing& method) {
  const std::string size = grid.is_list() ? std::to_string(width) : fmt::format("{} x {}", height, width);
  return fmt::format(
      "its entries look like {} positions that were learned and interpolated before the export ({}{}), some of which "
      "no trace tells: add a trace of at least {} positions",
      size, method.mode, method.antialias ? ", with anti-aliasing" : "", size);
}

// Whether no trace tells if there is anti-aliasing: none has a side that is shorter than what was learned.
bool is_never_shorter(const CellGrid& grid, const LearnedGrid& learned) {
  const auto is_shorter = [&](const Size& side, int64_t of) { return std::ranges::min(side.at) < of; };
  return !is_shorter(grid.height, learned.height) && !is_shorter(grid.width, learned.width);
}

// The learned grid resized as the table is, after the rows before it and before those after it. What was folded may have had anti-aliasing
// that the model's opset lacks.
Generated resized(const View& view, const CellGrid& grid, const Resizing& method, const LearnedGrid& learned,
                  const std::string& source) {
  const bool is_bounded = is_same_where_longer(method) && is_never_shorter(grid, learned);
  const auto size = [&](const std::string& height, const std::string& width) {
    return grid.is_list() ? width : fmt::format("{} x {}", height, width);
  };
  std::string description = fmt::format(
      "{} interpolation ({}{}{}) of the {} positions that {}, over {}{}{}{}", method.mode, method.coordinates,
      method.antialias ? ", with anti-aliasing" : "",
      method.misread ? ", with the exporter's rounding of places on entries undone" : "",
      size(std::to_string(learned.height), std::to_string(learned.width)), source,
      size(dim::to_string(grid.height.dim), dim::to_string(grid.width.dim)),
      grid.first == 0 ? "" : fmt::format(", after {} kept rows", grid.first),
      grid.last == 0 ? "" : fmt::format(", before {} kept rows", grid.last),
      is_bounded ? "; an error where a side is shorter, as no trace tells whether there is anti-aliasing" : "");
  // Channels first.
  std::vector<float> numbers;
  for (int64_t c = 0; c < view.width; ++c)
    for (int64_t row = 0; row < learned.height; ++row)
      for (int64_t column = 0; column < learned.width; ++column)
        numbers.push_back(static_cast<float>(learned.at(row, column, c)));
  const std::vector<int64_t> dims{1, view.width, learned.height, learned.width};
  const auto emit = [width = view.width, grid, method, numbers, dims, before = rows_before(view, grid),
                     after = rows_after(view, grid), is_bounded](TableEmitter& e) {
    const auto side = [&](const Size& of, int64_t least) {
      if (is_bounded) e.note({least, of.dim});
      return e.size(of.dim);
    };
    ir::Value* sizes =
        e.concat({e.list({1}), e.list({width}), side(grid.height, dims[2]), side(grid.width, dims[3])}, 0);
    ir::Value* table = emit_resize(e.floats(dims, numbers), sizes, method, e);
    table = e.emit("Transpose", {table}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
    return emit_cells(width, grid, table, before, after, e);
  };
  Generated out = made(view, std::move(description), emit);
  out.departs = method.misread;
  return out;
}

std::optional<Generated> fit_any_grid(const View& view, const std::vector<CellGrid>& grids, TableContext& context) {
  constexpr int64_t kMostWork = int64_t{1} << 30;
  const auto largest = scale_of(view);
  if (!largest) return std::nullopt;
  const double scale = *largest;
  const std::vector<Resizing> methods = possible_resizings(context.antialias);
  // A smaller grid that a trace has the larger version of.
  const auto smaller = [&](const CellGrid& grid, const ResizedFit& fit, size_t k) -> std::optional<Generated> {
    const LearnedGrid larger = fit.of(k);
    for (const Resizing& method : methods) {
      const auto learned = recover(larger, method, scale);
      if (learned && fit.fits(*learned, method, std::nullopt, scale) && fit.is_told(*learned, method, scale))
        return resized(view, grid, method, *learned, "were learned");
    }
    return std::nullopt;
  };
  for (const CellGrid& grid : grids) {
    const ResizedFit fit(view, grid);
    for (size_t native = 0; native < view.traces(); ++native)
      for (const Resizing& method : methods) {
        const LearnedGrid learned = fit.of(native);
        if (!fit.fits(learned, method, native, scale) || !fit.is_told(learned, method, scale)) continue;
        // A few places of another trace may be those of its larger version as well.
        if (auto found = smaller(grid, fit, native)) return found;
        return resized(view, grid, method, learned, "a trace has");
      }
  }
  // None has it as it was learned.
  for (const CellGrid& grid : grids) {
    const ResizedFit fit(view, grid);
    for (size_t k = 0; k < view.traces(); ++k)
      if (auto found = smaller(grid, fit, k)) return found;
  }
  // None is larger than that: what each leaves open, the others tell.
  int64_t work = kMostWork;
  for (const CellGrid& grid : grids) {
    if (grid.layout && grid.layout->block() > 1) continue;
    const ResizedFit fit(view, grid);
    std::vector<LearnedGrid> traces;
    for (size_t k = 0; k < view.traces(); ++k) traces.push_back(fit.of(k));
    for (const Resizing& method : methods) {
      const JointGrid learned = recover_together(traces, method, scale, work);
      if (learned.is_told && fit.fits(learned.grid, method, std::nullopt, scale) &&
          fit.is_told(learned.grid, method, scale))
        return resized(view, grid, method, learned.grid, "were learned, determined by all traces together");
      if (!learned.is_told && learned.grid.height > 0 && context.untold.empty())
        context.untold = untold(grid, learned.grid.height, learned.grid.width, method);
    }
  }
  return std::nullopt;
}

// Of all that decides whether a table is one of these grids, resized.
size_t hash_of(const View& view, const std::vector<CellGrid>& grids, bool antialias) {
  size_t hash = antialias ? 1 : 0;
  const auto add = [&](auto value) {
    hash ^= std::hash<decltype(value)>()(value) + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  };
  add(view.width);
  add(view.tolerance);
  for (const std::vector<double>& entries : view.entries) {
    add(entries.size());
    for (const double entry : entries) add(entry);
  }
  for (const CellGrid& grid : grids) {
    add(grid.first);
    add(grid.last);
    add(grid.is_list());
    add(grid.layout ? grid.layout->block() : int64_t{0});
    for (const Size* side : {&grid.height, &grid.width})
      for (const int64_t at : side->at) add(at);
    for (size_t k = 0; grid.layout && k < view.traces(); ++k)
      for (const int64_t row : grid.rows(k)) add(row);
  }
  return hash;
}

}  // namespace

std::optional<Generated> fit_resized(const Given& table) {
  TableContext& context = table.context;
  const std::vector<CellGrid> grids = possible_cell_grids(table.view, context);
  if (!context.before) return fit_any_grid(table.view, grids, context);
  const size_t hash = hash_of(table.view, grids, context.antialias);
  if (const auto known = context.before->not_resized.find(hash); known != context.before->not_resized.end()) {
    if (context.untold.empty()) context.untold = known->second;
    return std::nullopt;
  }
  const std::string before = std::exchange(context.untold, {});
  auto fit = fit_any_grid(table.view, grids, context);
  if (!fit) context.before->not_resized.emplace(hash, context.untold);
  if (!before.empty()) context.untold = before;
  return fit;
}

}  // namespace thaw::lifting
