// Learned positions of a grid's rows and of its columns, added, each list interpolated before the export. A list may have been resized
// to the longer side of the grid and cut, so that a cell is as wide as it is high (NaViT's factorized positions).
//
// Only the sums are seen: what is added to all rows may be taken from all columns. Each trace's first column and first row are as many
// equations as it has to give; those of all traces together tell both lists, or leave some of them open.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/kept/learned_grid.h"
#include "thaw/lift/table/kept/linear_sums.h"
#include "thaw/lift/table/keys/cell_grids.h"

namespace thaw::lifting {
namespace {

constexpr double kRounded = 2e-5;  // of sums in float32, relative to 1 or the largest entry

// What the lists were resized to in each trace, and what of it a grid takes.
struct FactorLengths {
  Size down, across;
  bool is_longer_side;
};

class Factorized {
 public:
  Factorized(const View& view, const CellGrid& grid) : view_(view), grid_(grid) {
    for (size_t k = 0; k < view.traces(); ++k) rows_.push_back(grid.rows(k));
  }
  double entry(size_t trace, int64_t row, int64_t column, int64_t c) const {
    return view_.at(trace, rows_[trace][static_cast<size_t>(row * grid_.width.at[trace] + column)], c);
  }

  bool is_sum(double scale) const {
    for (size_t k = 0; k < view_.traces(); ++k)
      for (int64_t row = 1; row < grid_.height.at[k]; ++row)
        for (int64_t column = 1; column < grid_.width.at[k]; ++column)
          for (int64_t c = 0; c < view_.width; ++c)
            if (std::abs(entry(k, row, column, c) - entry(k, row, 0, c) - entry(k, 0, column, c) + entry(k, 0, 0, c)) >
                kMostUnequal * scale)
              return false;
    return true;
  }

  // Rows first, then columns; last that the columns' mean is 0.
  LinearSums sums(const FactorLengths& lengths, int64_t side, const Resizing& method) const {
    LinearSums out(2 * side);
    const auto add = [&](size_t k, int64_t row, int64_t column) {
      std::vector<Tap> sum = taps_at(row, lengths.down.at[k], side, method);
      for (const Tap& tap : taps_at(column, lengths.across.at[k], side, method))
        sum.push_back({side + tap.at, tap.weight});
      out.add(std::move(sum));
    };
    each_cell(add);
    std::vector<Tap> mean;
    for (int64_t i = 0; i < side; ++i) mean.push_back({side + i, 1 / static_cast<double>(side)});
    out.add(std::move(mean));
    return out;
  }
  std::vector<double> wanted(int64_t c) const {
    std::vector<double> out;
    each_cell([&](size_t k, int64_t row, int64_t column) { out.push_back(entry(k, row, column, c)); });
    out.push_back(0);
    return out;
  }

 private:
  template <typename F>
  void each_cell(const F& f) const {
    for (size_t k = 0; k < view_.traces(); ++k) {
      for (int64_t row = 0; row < grid_.height.at[k]; ++row) f(k, row, 0);
      for (int64_t column = 1; column < grid_.width.at[k]; ++column) f(k, 0, column);
    }
  }

  const View& view_;
  const CellGrid& grid_;
  std::vector<std::vector<int64_t>> rows_;  // by trace: of each cell, row by row
};

std::vector<FactorLengths> possible_factor_lengths(const CellGrid& grid) {
  Size longer{dim::max(grid.height.dim, grid.width.dim), {}};
  for (size_t k = 0; k < grid.height.at.size(); ++k) longer.at.push_back(std::max(grid.height.at[k], grid.width.at[k]));
  return {{grid.height, grid.width, false}, {longer, longer, true}};
}

// The lists, channel by channel: of rows, then of columns.
struct Learned {
  int64_t side;
  std::vector<std::vector<double>> channels;

  // Of the list that begins there.
  std::vector<int64_t> alike_from(int64_t first, double scale) const {
    return alike(side, [&](int64_t a, int64_t b) {
      const auto at = [&](const std::vector<double>& channel, int64_t i) {
        return channel[static_cast<size_t>(first + i)];
      };
      return std::ranges::all_of(channels, [&](const std::vector<double>& channel) {
        return std::abs(at(channel, a) - at(channel, b)) <= kRounded * scale;
      });
    });
  }
};

bool gives_channels(const LinearSums& sums, const Factorized& fit, const Learned& learned, double tolerance) {
  for (size_t c = 0; c < learned.channels.size(); ++c) {
    const std::vector<double> got = sums.times(learned.channels[c]), wanted = fit.wanted(static_cast<int64_t>(c));
    for (size_t i = 0; i + 1 < wanted.size(); ++i)  // not the last, which is no entry
      if (std::abs(got[i] - wanted[i]) > tolerance) return false;
  }
  return true;
}

Generated factorized(const View& view, const CellGrid& grid, const FactorLengths& lengths, const Resizing& method,
                     const Learned& learned) {
  const int64_t side = learned.side;
  const auto shortest = [](const Size& size) { return std::ranges::min(size.at); };
  const bool is_bounded =
      is_same_where_longer(method) && shortest(lengths.down) >= side && shortest(lengths.across) >= side;
  std::string description = fmt::format(
      "{} interpolation ({}{}) of {} rows and {} columns that were learned, to {}, added over {} x {}{}", method.mode,
      method.coordinates, method.antialias ? ", with anti-aliasing" : "", side, side,
      lengths.is_longer_side ? "the longer side" : "each side", dim::to_string(grid.height.dim),
      dim::to_string(grid.width.dim),
      is_bounded ? "; an error where a side is shorter, as no trace tells whether there is anti-aliasing" : "");
  std::vector<float> rows, columns;
  for (const std::vector<double>& channel : learned.channels) {
    for (int64_t i = 0; i < side; ++i) rows.push_back(static_cast<float>(channel[static_cast<size_t>(i)]));
    for (int64_t i = 0; i < side; ++i) columns.push_back(static_cast<float>(channel[static_cast<size_t>(side + i)]));
  }
  const auto emit = [width = view.width, grid, lengths, method, side, rows, columns, is_bounded,
                     before = rows_before(view, grid), after = rows_after(view, grid)](TableEmitter& e) {
    const auto length = [&](const Size& size) {
      if (is_bounded) e.note({side, size.dim});
      return e.size(size.dim);
    };
    ir::Value *one = e.list({1}), *channels = e.list({width});
    ir::Value* down = emit_resize(e.floats({1, width, side, 1}, rows),
                                  e.concat({one, channels, length(lengths.down), one}, 0), method, e);
    ir::Value* across = emit_resize(e.floats({1, width, 1, side}, columns),
                                    e.concat({one, channels, one, length(lengths.across)}, 0), method, e);
    if (lengths.is_longer_side) {
      down = e.emit("Slice", {down, e.list({0}), e.size(grid.height.dim), e.list({2})});
      across = e.emit("Slice", {across, e.list({0}), e.size(grid.width.dim), e.list({3})});
    }
    ir::Value* cells = e.emit("Transpose", {e.add(down, across)}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
    return emit_cells(width, grid, cells, before, after, e);
  };
  return made(view, std::move(description), emit);
}

}  // namespace

std::optional<Generated> fit_factorized(const Given& table) {
  const View& view = table.view;
  TableContext& context = table.context;
  constexpr int64_t kMostWork = int64_t{1} << 28, kLongest = 160;
  const auto scale = scale_of(view);
  if (!scale) return std::nullopt;
  int64_t work = kMostWork;
  for (const CellGrid& grid : possible_cell_grids(view, context)) {
    const auto is_thin = [](const Size& side) { return std::ranges::min(side.at) < 2; };
    if (is_thin(grid.height) || is_thin(grid.width)) continue;
    const Factorized fit(view, grid);
    if (!fit.is_sum(*scale)) continue;
    int64_t told = 0;  // by all traces: what a list may hold is less
    for (size_t k = 0; k < view.traces(); ++k) told += grid.height.at[k] + grid.width.at[k] - 1;
    for (int64_t side = 2; side <= std::min(kLongest, told * 4 / 5 / 2); ++side) {
      for (const FactorLengths& lengths : possible_factor_lengths(grid)) {
        for (const Resizing& method : possible_resizings(context.antialias)) {
          const LinearSums sums = fit.sums(lengths, side, method);
          const auto holds = [&](int64_t c) { return sums.hold(fit.wanted(c), *scale, work); };
          if (!holds(0) || !holds(view.width / 2)) continue;
          const LeastSquares squares(sums);
          if (!squares.is_told()) {
            if (!sums.is_confirmed()) continue;
            context.untold = fmt::format(
                "its entries look like {} rows and {} columns that were learned and interpolated to {} before the "
                "export ({}{}), added; some of them no trace tells: add one of at least {} x {} cells",
                side, side, lengths.is_longer_side ? "the longer side of the grid" : "its sides", method.mode,
                method.antialias ? ", with anti-aliasing" : "", side, side);
            return std::nullopt;
          }
          Learned learned{side, {}};
          for (int64_t c = 0; c < view.width; ++c) learned.channels.push_back(squares.solve(fit.wanted(c)));
          if (are_told(lengths.down.at, learned.alike_from(0, *scale), method) &&
              are_told(lengths.across.at, learned.alike_from(side, *scale), method) &&
              gives_channels(sums, fit, learned, std::max(kRounded, view.tolerance) * *scale))
            return factorized(view, grid, lengths, method, learned);
        }
      }
      if (work <= 0) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
