// Generators: what tables are made of. Each looks at a table in all traces and gives formulas for its columns, or
// nothing where an entry differs. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table.h"

namespace thaw::lift {

struct Generated {
  std::string description;
  std::vector<Part> parts;
};

// A table with one axis that grows, and the ways its rows may be counted.
struct RowTable {
  const View& view;
  std::vector<LayoutPtr> layouts;
  TableContext& context;
};

// Columns that are affine in a coordinate (arange, positions, an outer product with a vector), or cosines or sines of a
// multiple of it (rotary angles).
std::optional<Generated> fit_columns(const RowTable& table);

// Indices that reorder a grid: where the entries of one layout stand in another, rolled or not; and row and column
// times sizes of the model.
std::optional<Generated> fit_reordering(const RowTable& table);
std::optional<Generated> fit_grid_indices(const RowTable& table);

// The corners, or their weights, of bilinear interpolation from a square of positions.
std::optional<Generated> fit_interpolation(const RowTable& table);

// Lists of window lengths, and their sums with a leading 0. Their own lengths are no size of the inputs but counted.
struct WindowList {
  std::string description;
  View form;  // of the list, without entries
  Formula formula;
};
std::optional<WindowList> fit_window_list(std::span<const ir::Tensor* const> tensors, TableContext& context);

}  // namespace thaw::lift
