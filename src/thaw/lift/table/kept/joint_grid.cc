#include "thaw/lift/table/kept/joint_grid.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "thaw/lift/table/kept/linear_sums.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostLearned = 1024;  // cells of the learned grid
constexpr int64_t kMostGiven = 8192;    // of the traces: where they have more, one is larger than what was learned

// Each cell of each trace as a sum of a few cells of a grid of this size.
LinearSums sums_of(std::span<const LearnedGrid> resized, int64_t height, int64_t width, const Resizing& method) {
  LinearSums sums(height * width);
  for (const LearnedGrid& trace : resized) {
    for (int64_t row = 0; row < trace.height; ++row) {
      const std::vector<Tap> down = taps_at(row, trace.height, height, method);
      for (int64_t column = 0; column < trace.width; ++column) {
        std::vector<Tap> sum;
        for (const Tap& x : taps_at(column, trace.width, width, method))
          for (const Tap& y : down)
            if (x.weight != 0 && y.weight != 0) sum.push_back({y.at * width + x.at, y.weight * x.weight});
        sums.add(std::move(sum));
      }
    }
  }
  return sums;
}

std::vector<double> wanted_of(std::span<const LearnedGrid> resized, int64_t channel) {
  std::vector<double> all;
  for (const LearnedGrid& trace : resized)
    for (int64_t row = 0; row < trace.height; ++row)
      for (int64_t column = 0; column < trace.width; ++column) all.push_back(trace.at(row, column, channel));
  return all;
}

// Heights and widths, the smaller grids first. As many cells as the traces have leave nothing to tell them by.
std::vector<std::pair<int64_t, int64_t>> possible_sizes(std::span<const LearnedGrid> resized) {
  int64_t cells = 0;
  bool is_list = true;
  std::set<int64_t> heights, widths;
  for (const LearnedGrid& trace : resized) {
    cells += trace.height * trace.width;
    is_list &= trace.height == 1;
    heights.insert(trace.height);
    widths.insert(trace.width);
  }
  const int64_t most = std::min(kMostLearned, cells * 4 / 5);
  std::set<std::pair<int64_t, int64_t>> sizes;
  for (int64_t side = 2; side <= most && (is_list || side * side <= most); ++side)
    sizes.emplace(is_list ? 1 : side, side);
  for (const int64_t height : heights)
    for (const int64_t width : widths)
      if (height * width <= most) sizes.emplace(height, width);
  std::vector<std::pair<int64_t, int64_t>> sorted(sizes.begin(), sizes.end());
  std::ranges::stable_sort(sorted, {}, [](const auto& size) { return size.first * size.second; });
  return sorted;
}

}  // namespace

JointGrid recover_together(std::span<const LearnedGrid> resized, const Resizing& method, double scale, int64_t& work) {
  int64_t given = 0;
  for (const LearnedGrid& trace : resized) given += trace.height * trace.width;
  if (given > kMostGiven) return {};
  const int64_t channels = resized.front().channels;
  for (const auto& [height, width] : possible_sizes(resized)) {
    const LinearSums sums = sums_of(resized, height, width, method);
    if (!sums.hold(wanted_of(resized, 0), scale, work) || !sums.hold(wanted_of(resized, channels / 2), scale, work)) {
      if (work <= 0) return {};
      continue;
    }
    JointGrid out{{height, width, channels, {}}, false};
    const LeastSquares squares(sums);
    if (!squares.is_told()) return sums.is_confirmed() ? out : JointGrid();
    out.is_told = true;
    out.grid.entries.resize(static_cast<size_t>(height * width * channels));
    for (int64_t c = 0; c < channels; ++c) {
      const std::vector<double> cells = squares.solve(wanted_of(resized, c));
      for (size_t i = 0; i < cells.size(); ++i)
        out.grid.entries[i * static_cast<size_t>(channels) + static_cast<size_t>(c)] = cells[i];
    }
    return out;
  }
  return {};
}

}  // namespace thaw::lifting
