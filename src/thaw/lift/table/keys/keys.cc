// What tables are told by: rows and columns of grids, how far these or positions are apart, runs that are alike.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/keys/key.h"
#include "thaw/lift/table/keys/separation.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostGrids = 8;  // of an axis

Formula along(const Formula& list, int axis) {
  const Formula at = position(axis);
  return *substitute(list, {&at, 1});
}

// Layouts of an axis as one grid, the simplest first.
std::vector<LayoutPtr> grids_of(const Size& length, TableContext& context) {
  std::vector<LayoutPtr> grids;
  for (const LayoutPtr& layout : layouts_of(length, context).plain_and_grids())
    if (layout->is_grid() && (layout->height() * layout->width()).at == length.at && grids.size() < kMostGrids)
      grids.push_back(layout);
  return grids;
}

void add_distances(const View& view, TableContext& context, std::vector<Key>& keys) {
  const Size &rows = view.growing[0], &columns = view.growing[1];
  keys.push_back({"by row - column", {apart(position(0), position(1), rows, columns)}});
  if (rows.at != columns.at) return;
  for (const LayoutPtr& grid : grids_of(rows, context)) {
    const Formula &row = grid->row().formula(), &column = grid->column().formula();
    keys.push_back({"by distances of the cells of " + grid->describe(),
                    {apart(along(row, 0), along(row, 1), grid->height(), grid->height()),
                     apart(along(column, 0), along(column, 1), grid->width(), grid->width())}});
  }
}

// Axes that are grids, taken apart.
void add_cells(const View& view, TableContext& context, std::vector<Key>& keys) {
  std::vector<Key> found{{"", {}}};
  for (size_t axis = 0; axis < view.growing.size(); ++axis) {
    const int at = static_cast<int>(axis);
    std::vector<Key> longer;
    for (const Key& before : found) {
      for (const LayoutPtr& grid : grids_of(view.growing[axis], context)) {
        Key key = before;
        key.name += fmt::format("{}{}", key.name.empty() ? "over " : " and ", grid->describe());
        key.parts.push_back({along(grid->row().formula(), at), grid->height()});
        key.parts.push_back({along(grid->column().formula(), at), grid->width()});
        longer.push_back(std::move(key));
      }
      longer.push_back(before);
      longer.back().parts.push_back({position(at), view.growing[axis]});
    }
    found = std::move(longer);
  }
  for (Key& key : found)
    if (!key.name.empty()) keys.push_back(std::move(key));
}

// Two sizes of tensors that the length is the product of; one size twice comes first.
std::vector<std::pair<Size, Size>> possible_pairs(const Size& length, const Solver& solver) {
  constexpr size_t kMostPairs = 4;
  std::vector<std::pair<Size, Size>> pairs;
  if (!solver.tensors()) return pairs;
  for (const bool square : {true, false}) {
    for (const auto& [at, size] : *solver.tensors()) {
      std::vector<int64_t> rest;
      for (size_t k = 0; k < at.size(); ++k) {
        if (at[k] < 2 || length.at[k] % at[k] != 0 || length.at[k] == at[k]) break;
        rest.push_back(length.at[k] / at[k]);
      }
      if (rest.size() != at.size() || (rest == at) != square || pairs.size() == kMostPairs) continue;
      const auto other = solver.tensors()->find(rest);
      if (other != solver.tensors()->end()) pairs.emplace_back(Size{size.dim, at}, Size{other->second.dim, rest});
    }
  }
  return pairs;
}

// How long the first of two lists may be that make up an axis: a size, or what one leaves.
std::vector<Size> possible_firsts(const Size& both, const TableContext& context) {
  constexpr int64_t kShortest = 2;
  std::vector<Size> firsts;
  for (const Variable& v : context.variables) {
    if (v.kind != Variable::Kind::kDim || !v.varies()) continue;
    const Size size{v.symbol, v.at}, rest = both - size;
    const auto is_list = [](int64_t n) { return n >= kShortest; };
    if (!std::ranges::all_of(size.at, is_list) || !std::ranges::all_of(rest.at, is_list)) continue;
    firsts.push_back(size);
    firsts.push_back(rest);
  }
  return firsts;
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

}  // namespace

Key::Part apart(const Formula& a, const Formula& b, const Size& of_a, const Size& of_b) {
  const Size last = of_b - constant_size(1, of_a.at.size());
  return {a - b + Formula(last), of_a + last};
}

Key key_of(const Counter& counter) {
  return {"where index is " + counter.name(), {{counter.formula(), counter.range()}}};
}

Key key_of(const Layout& grid) {
  return {"over " + grid.describe(), {{grid.row().formula(), grid.height()}, {grid.column().formula(), grid.width()}}};
}

std::vector<Key> pairs_of_positions(const Given& list) {
  std::vector<Key> keys;
  for (const auto& [rows, columns] : possible_pairs(list.view.length(), list.context.solver))
    keys.push_back({fmt::format("of {} x {}", dim::to_string(rows.dim), dim::to_string(columns.dim)),
                    {{position(0) / columns, rows}, {position(0) % columns, columns}}});
  return keys;
}

std::vector<Key> distances_and_cells(const Given& table) {
  std::vector<Key> keys;
  add_distances(table.view, table.context, keys);
  add_cells(table.view, table.context, keys);
  return keys;
}

std::vector<Key> digits(const Given& list) {
  std::vector<Key> keys;
  for (const CounterPtr& digit : list.digits_told_by(0)) keys.push_back(key_of(*digit));
  return keys;
}

std::vector<Key> runs(const Given& table) {
  constexpr int64_t kLongest = 64;
  const View& view = table.view;
  Key key{"in runs of", {}};
  bool is_shorter = false;
  for (size_t axis = 0; axis < view.growing.size(); ++axis) {
    const int64_t run = run_along(view, axis);
    if (run > kLongest) return {};
    is_shorter |= run > 1;
    key.name += fmt::format(" {}", run);
    key.parts.push_back({position(static_cast<int>(axis)) / Formula(run),
                         ceil_div(view.growing[axis], constant_size(run, view.traces()))});
  }
  return is_shorter ? std::vector<Key>{key} : std::vector<Key>();
}

// The waves of a discrete Fourier transform.
std::vector<Key> products_of_positions(const Given& table) {
  std::vector<Key> keys;
  for (const Size& period : table.view.growing) {
    if (!keys.empty() && period.at == keys.front().parts.front().range.at) continue;
    keys.push_back(
        {"by row * column modulo " + dim::to_string(period.dim), {{position(0) * position(1) % period, period}}});
  }
  return keys;
}

// A text and the patches of an image behind it: entries are told by positions within a list, and from one to the other (LayoutLMv3).
std::vector<Key> positions_again(const Given& table) {
  const Size& both = table.view.growing[0];
  if (both.at != table.view.growing[1].at) return {};
  std::vector<Key> keys;
  for (const Size& first : possible_firsts(both, table.context)) {
    const Size longer = larger_of(first, both - first);
    const auto again = [&](int axis) {
      return choose(less(position(axis), first), position(axis), position(axis) - Formula(first));
    };
    keys.push_back({fmt::format("of positions that count from 0 again behind the first {}", dim::to_string(first.dim)),
                    {{again(0), longer}, {again(1), longer}}});
  }
  return keys;
}

namespace {

std::optional<Generated> fit_by_distances_and_cells(const Given& table) {
  return fit_at_keys(table, distances_and_cells(table), fit_any);
}

}  // namespace

std::optional<Generated> fit_by_keys_behind_first(const Given& table) {
  return fit_behind_first(table, fit_by_distances_and_cells);
}

}  // namespace thaw::lifting
