// Lists with an entry for each window: how many entries of a sequence, or of a grid, it holds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// The list in every trace, and what it adds up to.
struct WindowLengths {
  std::vector<std::vector<int64_t>> lists;
  std::vector<int64_t> totals, counts;
  bool summed = false;  // it was given as sums with a leading 0
};

// An int list [n] or [1, n] in every trace, with nothing but positive lengths.
std::optional<WindowLengths> lengths_of(std::span<const ir::Tensor* const> tensors) {
  constexpr int64_t kMostWindows = 1 << 20;
  WindowLengths out;
  const auto& first = *tensors.front();
  for (const ir::Tensor* tensor : tensors) {
    const bool list = tensor->dims.size() == 1 || (tensor->dims.size() == 2 && tensor->dims[0] == 1);
    if (!list || tensor->dims.size() != first.dims.size() || tensor->data_type != first.data_type ||
        !ir::is_integer(tensor->data_type) || tensor->num_elements() < 1 || tensor->num_elements() > kMostWindows)
      return std::nullopt;
    out.lists.push_back(tensor->to_int64());
  }
  out.summed = std::all_of(out.lists.begin(), out.lists.end(), [](const auto& l) { return l.front() == 0; });
  for (std::vector<int64_t>& list : out.lists) {
    if (out.summed) {
      std::adjacent_difference(list.begin(), list.end(), list.begin());
      list.erase(list.begin());
    }
    constexpr int64_t kLongest = int64_t{1} << 32;
    if (std::any_of(list.begin(), list.end(), [](int64_t n) { return n < 1 || n > kLongest; })) return std::nullopt;
    out.totals.push_back(std::accumulate(list.begin(), list.end(), int64_t{0}));
    out.counts.push_back(static_cast<int64_t>(list.size()));
  }
  return out;
}

// A list of lengths: how many, and the i-th.
struct ListedWindows {
  Size count;
  Formula length;
  Formula before;  // the sum of those before, where that is simple
  std::string description;
};

// How many lengths from the first on are right in a trace.
int64_t leading_lengths(const ListedWindows& windows, const std::vector<int64_t>& list, size_t trace) {
  const Size count{dim::Dim(), std::vector<int64_t>(trace + 1, std::ssize(list))};
  const Numbers got = evaluate(windows.length, all_places({&count, 1}, trace));
  size_t right = 0;
  while (right < list.size() && got.entries[got.entries.size() == 1 ? 0 : right] == static_cast<double>(list[right]))
    ++right;
  return static_cast<int64_t>(right);
}

// In the trace where the fewest are.
int64_t leading_lengths(const ListedWindows& windows, const WindowLengths& lengths) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t k = 0; k < lengths.lists.size(); ++k)
    least = std::min(least, leading_lengths(windows, lengths.lists[k], k));
  return least;
}

bool gives_lengths(const ListedWindows& windows, const WindowLengths& lengths) {
  if (windows.count.at != lengths.counts) return false;
  for (size_t k = 0; k < lengths.lists.size(); ++k)
    if (leading_lengths(windows, lengths.lists[k], k) != lengths.counts[k]) return false;
  return true;
}

// Whether it is every s-th place, as many as some tensor has, rather than where windows end: all of them are whole, and
// nothing else is as long as they are together, or each is one place.
bool counts_places(const WindowLengths& lengths, int64_t side, const Solver& solver) {
  if (!lengths.summed) return false;
  for (const auto& list : lengths.lists)
    if (std::ranges::any_of(list, [&](int64_t length) { return length != side; })) return false;
  std::vector<int64_t> places;
  for (const int64_t count : lengths.counts) places.push_back(count + 1);
  const auto is_sure = [&](const std::vector<int64_t>& wanted) {
    const std::vector<Solution> found = solver.solutions(wanted, 1);
    return !found.empty() && found.front().rule <= Rule::kTensor;
  };
  return is_sure(places) && (side == 1 || !is_sure(lengths.totals));
}

// [s, s, …, rest] of a sequence.
std::optional<ListedWindows> sequence(const WindowLengths& lengths, const Solver& solver) {
  const size_t traces = lengths.lists.size();
  int64_t side = 0;
  for (const auto& list : lengths.lists) side = std::max(side, list.front());
  if (counts_places(lengths, side, solver)) return std::nullopt;
  const auto total = solver.solve(lengths.totals);
  if (!total) return std::nullopt;
  const Size whole{*total, lengths.totals}, window = constant_size(side, traces);
  ListedWindows out{ceil_div(whole, window), smaller(window, whole - position(0) * window),
                    smaller(whole, position(0) * window),
                    fmt::format("windows of {} of {}", side, dim::to_string(*total))};
  if (gives_lengths(out, lengths)) return out;
  return std::nullopt;
}

// How many grids of h x w there are: what the inputs say, or as many as make up one of their sizes.
std::vector<Size> possible_frames(const Size& grid, std::span<const int64_t> times, const TableContext& context) {
  const size_t traces = times.size();
  std::vector<Size> frames;
  const bool varies = std::any_of(times.begin(), times.end(), [&](int64_t n) { return n != times[0]; });
  for (const Variable& v : context.variables) {
    std::vector<int64_t> at;
    for (size_t k = 0; k < traces && v.at[k] % grid.at[k] == 0; ++k) at.push_back(v.at[k] / grid.at[k]);
    if (at.size() == traces && (varies ? at == std::vector<int64_t>(times.begin(), times.end())
                                       : at[0] == 1 && at == std::vector<int64_t>(traces, 1)))
      frames.push_back(Size{v.symbol, v.at} / grid);
  }
  return frames;
}

// Windows of s x s of a grid, cut at its right and lower edge; each counts q entries a cell.
std::optional<ListedWindows> of_grid(const WindowLengths& lengths, const TableContext& context, std::string& nearest) {
  int64_t most = 1;
  const size_t traces = lengths.lists.size();
  for (const auto& [h, w] : possible_grids(context.solver, lengths.totals)) {
    const Size grid = h.size * w.size;
    std::vector<int64_t> times;
    for (size_t k = 0; k < traces; ++k) times.push_back(lengths.totals[k] / grid.at[k]);
    // Frames times the entries of a cell.
    constexpr int64_t kMostEntries = 1024;
    const int64_t entries = std::min(kMostEntries, *std::min_element(times.begin(), times.end()));
    for (int64_t cell = 1; cell <= entries; ++cell) {
      std::vector<int64_t> count;
      for (size_t k = 0; k < traces && times[k] % cell == 0; ++k) count.push_back(times[k] / cell);
      if (count.size() != traces) continue;
      int64_t largest = 0;
      for (const auto& list : lengths.lists) largest = std::max(largest, list.front());
      const int64_t cells = largest / cell;
      const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(cells))));
      if (side < 2 || side * side * cell != largest) continue;
      std::vector<Size> repeats = possible_frames(grid, count, context);
      if (repeats.empty() && count == std::vector<int64_t>(traces, 1)) repeats.push_back(constant_size(1, traces));
      for (const Variable& v : context.variables)
        if (v.at == count && v.kind != Variable::Kind::kDim) repeats.push_back({v.symbol, v.at});
      const Size window = constant_size(side, traces), down = ceil_div(h.size, window),
                 across = ceil_div(w.size, window);
      for (const Size& repeat : repeats) {
        const Formula in_frame = position(0) % Formula(down * across), row = in_frame / across,
                      column = in_frame % across;
        const Formula tall = smaller(window, h.size - row * window), wide = smaller(window, w.size - column * window);
        ListedWindows out{
            down * across * repeat,
            tall * wide * Formula(cell),
            {},
            fmt::format("windows of {0} x {0} in a grid {1} x {2}{3}", side, dim::to_string(h.size.dim),
                        dim::to_string(w.size.dim), cell == 1 ? "" : fmt::format(", {} entries a cell", cell))};
        if (gives_lengths(out, lengths)) return out;
        const int64_t right = leading_lengths(out, lengths);
        if (right <= most) continue;
        most = right;
        nearest = fmt::format("; nearest: lengths of {} give the first {} of {}", out.description, right,
                              fmt::join(lengths.counts, ", "));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<TableFit> fit_window_list(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                        std::string& nearest) {
  const auto lengths = lengths_of(tensors);
  if (!lengths) return std::nullopt;
  const bool same_count = std::equal(lengths->counts.begin() + 1, lengths->counts.end(), lengths->counts.begin());
  // Two sizes, or three that are alike in every trace, are told as well by themselves.
  if (same_count && lengths->counts.front() < 3) return std::nullopt;
  std::optional<ListedWindows> windows = sequence(*lengths, context.solver);
  if (!windows) windows = of_grid(*lengths, context, nearest);
  if (!windows) return std::nullopt;
  View form;
  form.type = tensors.front()->data_type;
  form.kind = Kind::kInteger;
  Size count = windows->count;
  Formula formula = windows->length;
  if (lengths->summed) {
    count = count + constant_size(1, lengths->lists.size());
    formula = windows->before ? windows->before : sum_before(windows->length);
  }
  form.dims = std::vector<dim::Dim>(tensors.front()->dims.size(), dim::Dim(1));
  form.dims.back() = count.dim;
  form.axes = {form.dims.size() - 1};
  form.growing = {count};
  const char* what = lengths->summed ? "sums of the lengths of " : "lengths of ";
  return made_of(form, Generated{what + windows->description, formula});
}

}  // namespace thaw::lifting
