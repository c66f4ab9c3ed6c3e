// How the rows of a table are counted: one after the other, or over a grid whose sides are sizes of the model.
//
// A table of h * w rows (or of whole frames of h * w) counts them row by row, or in blocks of m x m: (block row, block
// column, row in block, column in block), as image processors that merge patches write them. A layout gives each row of
// the table its coordinates, in every trace for fitting and as nodes for the lifted model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/lift/emit_table.h"
#include "thaw/lift/solve.h"

namespace thaw::lift {

enum class Coordinate : uint8_t { kIndex, kRow, kColumn };

struct Layout {
  dim::Dim length, height, width;  // height and width unknown: the rows have an index only
  int64_t block = 1;
  // By trace.
  std::vector<int64_t> lengths, heights, widths;
  std::vector<std::vector<int64_t>> rows, columns;

  bool is_grid() const { return !heights.empty(); }
  std::string describe() const;
};

// The layouts that a table of these lengths may have, the simplest first.
std::vector<Layout> possible_layouts(dim::Dim length, std::span<const int64_t> lengths,
                                     std::span<const Variable> variables);

// The coordinates of the rows as int64 [length].
struct LayoutNodes {
  ir::Value *index = nullptr, *row = nullptr, *column = nullptr;
  ir::Value* of(Coordinate c) const { return c == Coordinate::kIndex ? index : c == Coordinate::kRow ? row : column; }
};
LayoutNodes emit_layout(const Layout& layout, TableEmitter& emitter);

}  // namespace thaw::lift
