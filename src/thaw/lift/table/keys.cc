// What tables are told by: rows and columns of grids, how far these or positions are apart, runs that are alike.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/key.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostGrids = 8;  // of an axis

// How a is before or behind b, from the farthest behind on.
Key::Part apart(const Formula& a, const Formula& b, const Size& of_a, const Size& of_b) {
  const Size one = constant_size(1, of_a.at.size());
  return {a - b + Formula(of_b - one), of_a + of_b - one};
}

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
    for (const auto& [at, dim] : *solver.tensors()) {
      std::vector<int64_t> rest;
      for (size_t k = 0; k < at.size(); ++k) {
        if (at[k] < 2 || length.at[k] % at[k] != 0 || length.at[k] == at[k]) break;
        rest.push_back(length.at[k] / at[k]);
      }
      if (rest.size() != at.size() || (rest == at) != square || pairs.size() == kMostPairs) continue;
      const auto other = solver.tensors()->find(rest);
      if (other != solver.tensors()->end()) pairs.emplace_back(Size{dim, at}, Size{other->second, rest});
    }
  }
  return pairs;
}

}  // namespace

std::vector<Key> possible_keys(const View& view, TableContext& context) {
  std::vector<Key> keys;
  if (view.growing.size() == 1) {
    for (const auto& [rows, columns] : possible_pairs(view.length(), context.solver))
      keys.push_back({fmt::format("of {} x {}", dim::to_string(rows.dim), dim::to_string(columns.dim)),
                      {{position(0) / columns, rows}, {position(0) % columns, columns}}});
    return keys;
  }
  if (view.growing.size() != 2) return keys;
  add_distances(view, context, keys);
  add_cells(view, context, keys);
  return keys;
}

std::optional<Generated> fit_folded(const View& list, TableContext& context) {
  for (const Key& key : possible_keys(list, context)) {
    const auto table = by_key(list, key);
    if (auto fit = table ? fit_axes(*table, context) : std::nullopt)
      if (auto whole = at_key(std::move(*fit), list, key)) return whole;
  }
  return std::nullopt;
}

namespace {

std::optional<Generated> fit_by_any_key(const View& view, TableContext& context) {
  const bool is_list = view.growing.size() == 1;
  for (const Key& key : possible_keys(view, context)) {
    const auto by = by_key(view, key);
    if (!by) continue;
    auto fit = by->growing.size() == 1 ? fit_list(*by, context) : fit_axes(*by, context);
    if (!fit) fit = fit_learned(*by, context);
    if (!fit && is_list) fit = fit_by_keys(*by, context);
    if (fit)
      if (auto whole = at_key(std::move(*fit), view, key)) return whole;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Generated> fit_by_keys(const View& view, TableContext& context) {
  if (auto fit = fit_by_any_key(view, context)) return fit;
  return view.width > 1 ? fit_behind_first(view, context, fit_by_any_key) : std::nullopt;
}

}  // namespace thaw::lifting
