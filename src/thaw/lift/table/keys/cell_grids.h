// Tables whose rows are the cells of a grid, with a few kept rows before and after them: a class token, registers. Internal to lift/.
#pragma once

#include <vector>

#include "thaw/lift/table/table.h"

namespace thaw::lifting {

// How large a grid of rows is and where its cells stand, in each trace.
struct CellGrid {
  Size height, width;
  LayoutPtr layout;             // of a list; none where height and width are axes, or there is one axis
  int64_t first = 0, last = 0;  // rows before it and after it

  bool is_list() const { return height.dim.is_constant(1); }
  // The rows of its cells in a trace, row by row.
  std::vector<int64_t> rows(size_t trace) const;
};

// Those that a table may be, one list of all its rows last.
std::vector<CellGrid> possible_cell_grids(const View& view, TableContext& context);

// The whole table, of its cells [1, height, width, channels], with the kept rows that the first trace has.
ir::Value* emit_cells(int64_t width, const CellGrid& grid, ir::Value* cells, const std::vector<float>& before,
                      const std::vector<float>& after, TableEmitter& emitter);
std::vector<float> rows_before(const View& view, const CellGrid& grid);
std::vector<float> rows_after(const View& view, const CellGrid& grid);

}  // namespace thaw::lifting
