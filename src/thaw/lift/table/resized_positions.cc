// Learned positions that were interpolated before the export: where one trace has the table at its own size, the others
// are that table resized, and so is any other size.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// An operator Resize, as ONNX names it.
struct Method {
  const char *mode, *coordinates;
};
constexpr Method kMethods[] = {
    {"cubic", "half_pixel"}, {"linear", "half_pixel"}, {"cubic", "align_corners"}, {"linear", "align_corners"}};
constexpr double kCubic = -0.75;     // of torch, and of Resize where it is not told
constexpr double kTolerance = 2e-5;  // of sums in float32, relative to 1 or the largest entry

// Which entries of a side a position takes, and how much of each.
struct Tap {
  int64_t at;
  double weight;
};

std::vector<Tap> taps_at(int64_t i, int64_t n, int64_t side, const Method& method) {
  const bool corners = std::string_view(method.coordinates) == "align_corners";
  const double x = corners ? (n > 1 ? static_cast<double>(i * (side - 1)) / static_cast<double>(n - 1) : 0)
                           : (static_cast<double>(i) + .5) * static_cast<double>(side) / static_cast<double>(n) - .5;
  const double low = std::floor(x), t = x - low;
  const auto inside = [&](double at) {
    return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(side - 1)));
  };
  if (std::string_view(method.mode) == "linear") return {{inside(low), 1 - t}, {inside(low + 1), t}};
  const auto near = [](double d) { return ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((kCubic * d - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic; };
  return {{inside(low - 1), far(t + 1)},
          {inside(low), near(t)},
          {inside(low + 1), near(1 - t)},
          {inside(low + 2), far(2 - t)}};
}

// A grid of learned rows: how large it is and where its cells stand, in each trace.
struct Grid {
  Size height, width;
  LayoutPtr layout;   // of a list; none where height and width are axes
  int64_t first = 0;  // rows before it
};

struct Resized {
  Method method;
  size_t native = 0;
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

  double entry(size_t trace, int64_t row, int64_t column, int64_t c) const {
    return view_.at(trace, rows_[trace][static_cast<size_t>(row * grid_.width.at[trace] + column)], c);
  }

  // Whether the other traces are the native one's grid, resized.
  // scale: the largest entry.
  bool fits(const Resized& resized, double scale) const {
    const size_t from = resized.native;
    for (size_t k = 0; k < view_.traces(); ++k) {
      if (k == from) continue;
      std::vector<std::vector<Tap>> down, across;
      for (int64_t i = 0; i < grid_.height.at[k]; ++i)
        down.push_back(taps_at(i, grid_.height.at[k], grid_.height.at[from], resized.method));
      for (int64_t i = 0; i < grid_.width.at[k]; ++i)
        across.push_back(taps_at(i, grid_.width.at[k], grid_.width.at[from], resized.method));
      for (int64_t row = 0; row < grid_.height.at[k]; ++row) {
        for (int64_t column = 0; column < grid_.width.at[k]; ++column) {
          for (int64_t c = 0; c < view_.width; ++c) {
            double sum = 0;
            for (const Tap& y : down[static_cast<size_t>(row)])
              for (const Tap& x : across[static_cast<size_t>(column)])
                sum += y.weight * x.weight * entry(from, y.at, x.at, c);
            if (std::abs(sum - entry(k, row, column, c)) > std::max(kTolerance, view_.tolerance) * scale) return false;
          }
        }
      }
    }
    return true;
  }

  // The native grid, channels first.
  std::vector<float> source(size_t native) const {
    std::vector<float> out;
    for (int64_t c = 0; c < view_.width; ++c)
      for (int64_t row = 0; row < grid_.height.at[native]; ++row)
        for (int64_t column = 0; column < grid_.width.at[native]; ++column)
          out.push_back(static_cast<float>(entry(native, row, column, c)));
    return out;
  }

 private:
  const View& view_;
  const Grid& grid_;
  std::vector<std::vector<int64_t>> rows_;  // by trace: of each cell, row by row
};

std::vector<Grid> possible_grids_of(const View& view, TableContext& context) {
  std::vector<Grid> grids;
  if (view.growing.size() == 2) grids.push_back({view.growing[0], view.growing[1], nullptr, 0});
  if (view.growing.size() != 1) return grids;
  constexpr int64_t kMostFirst = 8;
  for (int64_t first = 0; first <= kMostFirst; ++first) {
    for (size_t k = 0; k < view.traces(); ++k) {
      if (first > view.length().at[k]) return grids;
      for (int64_t c = 0; first > 0 && c < view.width; ++c)
        if (!view.close(view.at(k, first - 1, c), view.at(0, first - 1, c))) return grids;
    }
    const Size count = view.length() - constant_size(first, view.traces());
    for (const LayoutPtr& layout : layouts_of(count, context).plain_and_grids()) {
      // More frames than one would be the grid again and again, which is left to a graph with the interpolation in it.
      if (layout->is_grid() && (layout->height() * layout->width()).at == count.at)
        grids.push_back({layout->height(), layout->width(), layout, first});
    }
  }
  return grids;
}

}  // namespace

std::optional<TableFit> fit_resized(const View& view, TableContext& context) {
  constexpr int64_t kLeastChannels = 2;
  if (view.kind != Kind::kReal || view.width < kLeastChannels || view.traces() < 2) return std::nullopt;
  for (const auto& entries : view.entries)
    if (entries.empty()) return std::nullopt;
  double scale = 1;
  for (const auto& entries : view.entries)
    for (const double entry : entries) {
      if (!std::isfinite(entry)) return std::nullopt;
      scale = std::max(scale, std::abs(entry));
    }
  for (const Grid& grid : possible_grids_of(view, context)) {
    const Fit fit(view, grid);
    for (size_t native = 0; native < view.traces(); ++native) {
      for (const Method& method : kMethods) {
        if (!fit.fits({method, native}, scale)) continue;
        TableFit out;
        const int64_t height = grid.height.at[native], width = grid.width.at[native];
        out.description = fmt::format("{} interpolation ({}) of the {} x {} positions that a trace has, over {} x {}{}",
                                      method.mode, method.coordinates, height, width, dim::to_string(grid.height.dim),
                                      dim::to_string(grid.width.dim),
                                      grid.first == 0 ? "" : fmt::format(", after {} kept rows", grid.first));
        const View form = view.without_entries();
        std::vector<float> before;
        for (int64_t i = 0; i < grid.first * view.width; ++i)
          before.push_back(static_cast<float>(view.entries[0][static_cast<size_t>(i)]));
        out.emit = [form, grid, method, height, width, before, source = fit.source(native)](TableEmitter& e) {
          const int64_t channels = form.width;
          ir::Value* sizes =
              e.concat({e.list({1}), e.list({channels}), e.size(grid.height.dim), e.size(grid.width.dim)}, 0);
          ir::Value* table = e.emit("Resize", {e.floats({1, channels, height, width}, source), nullptr, nullptr, sizes},
                                    {{"mode", std::string(method.mode)},
                                     {"coordinate_transformation_mode", std::string(method.coordinates)}});
          table = e.emit("Transpose", {table}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
          if (!grid.layout) return emit_shaped(form, table, e);
          table = e.emit("Reshape", {table, e.list({-1, channels})});
          if (grid.layout->block() > 1) {
            const dim::Dim axes[] = {grid.layout->length().dim};
            const Formula cell = grid.layout->row().formula() * grid.width + grid.layout->column().formula();
            table = e.emit("Gather", {table, emit_formula(cell, axes, e)});
          }
          if (grid.first > 0) table = e.concat({e.floats({grid.first, channels}, before), table}, 0);
          return emit_shaped(form, table, e);
        };
        return out;
      }
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
