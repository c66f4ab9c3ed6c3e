#include "thaw/lift/table/keys/grid_layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kBlocks[] = {1, 2, 3, 4};
constexpr size_t kMostLayouts = 64;

bool all_of(const std::vector<int64_t>& values, auto predicate) {
  return std::all_of(values.begin(), values.end(), predicate);
}

// The sides of an edge window: what is left of a side after so many windows.
Formula rest(const Formula& side, const Formula& windows, int64_t window) {
  return smaller(Formula(window), side - windows * Formula(window));
}

// Parts that divide a size in every trace come first; then those that are rounded, up where it was padded and down
// where what was left over was cut.
std::vector<Side> possible_sides(std::span<const Variable> variables, std::span<const int64_t> totals) {
  constexpr int64_t kLargestPatch = 64;
  std::vector<Side> sides, rounded;
  const auto has = [](const std::vector<Side>& known, const Side& side) {
    return std::ranges::any_of(
        known, [&](const Side& other) { return other.variable == side.variable && other.size.at == side.size.at; });
  };
  for (const Variable& v : variables) {
    for (int64_t part = 1; part <= kLargestPatch; ++part) {
      const bool exact = all_of(v.at, [&](int64_t at) { return at % part == 0; });
      for (const bool up : {false, true}) {
        // One trace, or a part that is the same in all, says nothing of rounding.
        if (exact ? up : totals.size() == 1) continue;
        Side side{&v, {part == 1 ? v.symbol : up ? dim::ceil_div(v.symbol, part) : dim::floor_div(v.symbol, part), {}}};
        bool more = false, less = false, divides = true;
        for (size_t k = 0; k < totals.size(); ++k) {
          const int64_t at = v.at[k] / part + (up && v.at[k] % part != 0 ? 1 : 0);
          more |= at > 1;  // a side is more than one row, and less than all of them
          less |= at < totals[k];
          divides &= at > 0 && totals[k] % at == 0;
          side.size.at.push_back(at);
        }
        if (!more || !less || !divides) continue;
        if (exact) {
          sides.push_back(std::move(side));
        } else if (!all_of(side.size.at, [&](int64_t at) { return at == side.size.at[0]; }) && !has(rounded, side)) {
          rounded.push_back(std::move(side));
        }
      }
    }
  }
  for (Side& side : rounded)
    if (!has(sides, side)) sides.push_back(std::move(side));
  return sides;
}

// Sizes of tensors that one size of the inputs gives: how many windows there are along a side at a deep level.
std::vector<Side> sides_of_tensors(const Solver& solver, std::span<const int64_t> totals) {
  std::vector<Side> sides;
  if (!solver.tensors() || totals.size() == 1) return sides;
  for (const auto& [at, size] : *solver.tensors()) {
    const std::vector<int> symbols = dim::symbols_of(size.dim);
    if (symbols.size() != 1) continue;
    const auto of =
        std::ranges::find_if(solver.variables(), [&](const Variable& v) { return id_of(v) == symbols.front(); });
    bool divides = of != solver.variables().end();
    for (size_t k = 0; k < totals.size() && divides; ++k) divides = at[k] > 0 && totals[k] % at[k] == 0;
    if (divides) sides.push_back({&*of, {size.dim, at}});
  }
  return sides;
}

// Whether grids of these sides make up the tables: one each, or as many as some size of the inputs says.
bool make_up(const Size& h, const Size& w, std::span<const int64_t> lengths, std::span<const Variable> variables) {
  std::vector<int64_t> frames;
  for (size_t k = 0; k < lengths.size(); ++k) frames.push_back(lengths[k] / (h.at[k] * w.at[k]));
  return all_of(frames, [](int64_t n) { return n == 1; }) ||
         std::any_of(variables.begin(), variables.end(), [&](const Variable& v) { return v.at == frames; });
}

}  // namespace

std::string Layout::describe() const {
  if (!is_grid()) return "a row each";
  const std::string sides = fmt::format("{} x {}", dim::to_string(height_.dim), dim::to_string(width_.dim));
  const std::string blocks = block_ == 1 ? "" : fmt::format("blocks of {0} x {0}", block_);
  if (window_ != 0)
    return fmt::format("windows of {0} x {0}{1}{2} in a grid {3}", window_, block_ == 1 ? "" : " ", blocks, sides);
  return block_ == 1 ? "rows of a grid " + sides : fmt::format("{} in a grid {}", blocks, sides);
}

Place Layout::place(const Formula& index) const {
  const Formula frame_size = height_ * width_, side(block_);
  const Formula in_frame = index % frame_size, in_block = in_frame % (side * side), unit = in_frame / (side * side);
  const Formula down = height_ / constant_size(block_, height_.at.size()),
                across = width_ / constant_size(block_, width_.at.size());
  Formula row, column;
  if (window_ == 0) {
    row = unit / across;
    column = unit % across;
  } else {
    const Formula window(window_), strip = window * across;
    const Formula window_row = unit / strip, in_strip = unit - window_row * strip;
    const Formula tall = rest(down, window_row, window_), window_column = in_strip / (window * tall);
    const Formula wide = rest(across, window_column, window_), in_window = in_strip - window_column * window * tall;
    row = window_row * window + in_window / wide;
    column = window_column * window + in_window % wide;
  }
  return {index / frame_size, row * side + in_block / side, column * side + in_block % side};
}

Formula Layout::index(const Place& at) const {
  const Formula side(block_), row = at.row / side, column = at.column / side;
  const Formula down = height_ / constant_size(block_, height_.at.size()),
                across = width_ / constant_size(block_, width_.at.size());
  Formula unit = row * across + column;
  if (window_ != 0) {
    const Formula window(window_), window_row = row / window, window_column = column / window;
    const Formula tall = rest(down, window_row, window_), wide = rest(across, window_column, window_);
    unit = window_row * window * across + window_column * window * tall + row % window * wide + column % window;
  }
  const Formula in_block = at.row % side * side + at.column % side;
  return at.frame * Formula(height_ * width_) + unit * (side * side) + in_block;
}

const std::vector<CounterPtr>& Layout::counters() const {
  if (!counters_.empty()) return counters_;
  const auto add = [&](std::string name, const Formula& formula, const Size& range) {
    counters_.push_back(std::make_shared<const Counter>(std::move(name), formula, length_, range));
  };
  if (!is_grid()) {
    add("index", position(0), length_);
    return counters_;
  }
  const Place at = place(position(0));
  add("row of " + describe(), at.row, height_);
  add("column of " + describe(), at.column, width_);
  add("frame of " + describe(), at.frame, length_ / (height_ * width_));
  return counters_;
}

std::vector<std::pair<Side, Side>> possible_grids(const Solver& solver, std::span<const int64_t> totals) {
  std::vector<Side> sides = possible_sides(solver.variables(), totals);
  Around of_table;
  of_table.counts = true;
  for (Side& side : sides) {
    const auto found = totals.size() > 1 ? solver.solve(side.size.at, of_table) : std::nullopt;
    if (!found) continue;
    // What the solver gives may be of another side, that is as large in every trace.
    const auto is_of_it = [&](dim::Dim size) { return dim::symbols_of(size) == std::vector{id_of(*side.variable)}; };
    const std::vector<dim::Dim> known = solver.sizes_as_large(side.size.at);
    const auto own = std::ranges::find_if(known, is_of_it);
    if (is_of_it(*found) || own == known.end())
      side.size.dim = *found;
    else
      side.size.dim = *own;
  }
  std::vector<std::pair<Side, Side>> grids;
  const auto add = [&](const Side& h, const Side& w) {
    bool varies = totals.size() == 1, divides = true;
    for (size_t k = 0; k < totals.size(); ++k) {
      divides &= totals[k] % (h.size.at[k] * w.size.at[k]) == 0;
      varies |= h.size.at[k] != h.size.at[0] || w.size.at[k] != w.size.at[0];
    }
    if (divides && varies) grids.emplace_back(h, w);
  };
  for (const Side& h : sides)
    for (const Side& w : sides)
      if (h.variable != w.variable) add(h, w);
  // Where all traces are of squares, both sides are one size.
  if (totals.size() > 1)
    for (const Side& side : sides) add(side, side);
  return grids;
}

namespace {

// Whether the cells of these sides are the table's also at sizes that no trace has, or as many to a frame.
bool make_up_elsewhere(const Size& h, const Size& w, const Size& length, const Solver& solver) {
  const bool is_frame = (h * w).at != length.at;
  return std::ranges::all_of(solver.unseen(), [&](const std::vector<int64_t>& sizes) {
    const dim::Assignment at = assignment_at(solver.variables(), sizes);
    const auto cells = dim::evaluate(h.dim * w.dim, at), entries = dim::evaluate(length.dim, at);
    if (!cells || !entries || *cells == 0) return true;
    return is_frame ? *entries % *cells == 0 : *entries == *cells;
  });
}

}  // namespace

Layouts::Layouts(Size length, const Solver& solver, const Grids& grids) {
  layouts_.push_back(std::make_shared<const Layout>(length));
  const auto add = [&](const Size& height, const Size& width) {
    for (const int64_t block : kBlocks) {
      const auto whole = [&](int64_t side) { return side % block == 0; };
      if (!all_of(height.at, whole) || !all_of(width.at, whole) || layouts_.size() == kMostLayouts) continue;
      layouts_.push_back(std::make_shared<const Layout>(length, height, width, block, 0));
    }
  };
  std::vector<std::pair<Size, Size>> all;
  for (const auto& [h, w] : possible_grids(solver, length.at))
    if (make_up(h.size, w.size, length.at, solver.variables())) all.emplace_back(h.size, w.size);
  const auto of_tensors = grids.find(length.at);
  for (const auto& sides : of_tensors == grids.end() ? std::vector<std::pair<Size, Size>>() : of_tensors->second)
    all.push_back(sides);
  // How the length is rounded may be unknown: then none of them tells.
  const auto other = std::ranges::stable_partition(
      all, [&](const auto& sides) { return make_up_elsewhere(sides.first, sides.second, length, solver); });
  if (other.begin() != all.begin()) all.erase(other.begin(), other.end());
  for (size_t i = 0; i < all.size(); ++i) {
    const auto is_it = [&](const auto& sides) {
      return sides.first.at == all[i].first.at && sides.second.at == all[i].second.at;
    };
    if (std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), is_it))
      add(all[i].first, all[i].second);
  }
}

std::vector<LayoutPtr> Layouts::grids_of_tensors(const Size& length, const Solver& solver) {
  std::vector<LayoutPtr> grids;
  const std::vector<Side> sides = sides_of_tensors(solver, length.at);
  for (const Side& h : sides)
    for (const Side& w : sides)
      if (h.variable != w.variable && (h.size * w.size).at == length.at && grids.size() < kMostLayouts)
        grids.push_back(std::make_shared<const Layout>(length, h.size, w.size, 1, 0));
  return grids;
}

const std::vector<LayoutPtr>& Layouts::windows(int64_t window) {
  const auto [known, is_new] = windows_.try_emplace(window);
  if (is_new) {
    for (const LayoutPtr& grid : layouts_) {
      if (!grid->is_grid()) continue;
      // Windows as wide as the grid itself are its rows.
      bool narrower = false;
      for (const int64_t width : grid->width().at) narrower |= width / grid->block() > window;
      if (narrower)
        known->second.push_back(
            std::make_shared<const Layout>(grid->length(), grid->height(), grid->width(), grid->block(), window));
    }
  }
  return known->second;
}

std::vector<int64_t> possible_windows(const View& view) {
  constexpr int64_t kLargestWindow = 256;
  size_t largest = 0;
  for (size_t k = 1; k < view.traces(); ++k)
    if (view.length().at[k] > view.length().at[largest]) largest = k;
  const int64_t length = view.length().at[largest];
  std::vector<int64_t> windows;
  for (const int64_t column : {int64_t{0}, view.width - 1}) {
    for (const int64_t block : kBlocks) {
      const int64_t unit = block * block, end = std::min(length / unit, kLargestWindow);
      const auto entry = [&](int64_t at) { return view.at(largest, at * unit, column); };
      // Of a rolled grid the first window is cut: the distance of the second end from the first tells.
      int64_t same = 0, other = 0, bend = 0, next_bend = 0;
      for (int64_t at = 1; at < end; ++at) {
        if (same == 0 && entry(at) == entry(0)) same = at;
        if (other == 0 && entry(at) != entry(0)) other = at;
        if (view.close(entry(at) - entry(at - 1), entry(1) - entry(0))) continue;
        if (bend == 0) {
          bend = at;
        } else if (next_bend == 0) {
          next_bend = at;
        }
      }
      for (const int64_t window : {same, other, bend, next_bend - bend})
        if (window > 1 && std::find(windows.begin(), windows.end(), window) == windows.end()) windows.push_back(window);
    }
  }
  return windows;
}

}  // namespace thaw::lifting
