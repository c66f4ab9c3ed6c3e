// Generators: functions of coordinates that give the entries of a table. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/layout.h"

namespace thaw::lift {

// A table with the axis that grows first: by trace, rows of `width` entries.
struct Rows {
  int64_t width = 1;
  bool is_integer = false;
  std::vector<std::vector<double>> entries;  // by trace, row after row
  double at(size_t trace, size_t row, size_t column) const {
    return entries[trace][row * static_cast<size_t>(width) + column];
  }
};

enum class Function : uint8_t { kAffine, kCos, kSin };

// One column of the table: f(scale * coordinate + offset).
struct ColumnFit {
  size_t layout = 0;
  Coordinate coordinate = Coordinate::kIndex;
  Function function = Function::kAffine;
  double scale = 0, offset = 0;
  double weight = 0;  // kCos, kSin: how well the scale is known
  bool same_kind(const ColumnFit& other) const {
    return layout == other.layout && coordinate == other.coordinate && function == other.function;
  }
};
// functions: those to try, in order.
std::optional<ColumnFit> fit_column(const Rows& rows, size_t column, const std::vector<Layout>& layouts,
                                    std::span<const Function> functions);

// Frequencies of rotary positions are powers of one number. Small ones are badly known from few positions: where the
// columns of a run go with a geometric progression, their scales become exactly that. Returns whether they do.
bool straighten(const Rows& rows, size_t first_column, const std::vector<Layout>& layouts, std::span<ColumnFit> run);

// Entries row_step * row + column_step * column + offset, the steps sizes of the model.
struct GridIndexFit {
  size_t layout = 0;
  dim::Dim row_step, column_step, offset;
};
std::optional<GridIndexFit> fit_grid_index(const Rows& rows, size_t column, const std::vector<Layout>& layouts,
                                           const Solver& solver);

// Bilinear interpolation from a grid of side x side over the layout's: which corner a column names, or weighs.
struct CornerFit {
  size_t layout = 0;
  int64_t side = 0;
  bool lower_row = true, lower_column = true;
};
// All columns at once; side: 0 where it is to be found from the entries.
std::optional<std::vector<CornerFit>> fit_corners(const Rows& rows, const std::vector<Layout>& layouts,
                                                  std::span<const int64_t> sides);

}  // namespace thaw::lift
