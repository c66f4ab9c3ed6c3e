// Tables: constants with an axis that grows with the input, and the generators that make them.
//
// A generator is fitted on all traces at once and must give every entry of every table. Generators: a constant, affine
// in a coordinate (arange, position ids, an outer product with a vector), cosine and sine of a multiple of a coordinate
// (rotary angles), affine in row and column (indices that reorder a grid), and the entries and weights of bilinear
// interpolation from a square grid of positions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/layout.h"

namespace thaw::lift {

struct TableFit {
  std::string description;                        // "cos(x * f) of rows and columns of blocks of 2 x 2 …"
  std::function<ir::Value*(TableEmitter&)> emit;  // the table, of its type and shape
};

// What fitting one table may use of others: sides of grids of positions that were read.
struct TableContext {
  std::span<const Variable> variables;
  const Solver& solver;
  std::vector<int64_t> sides;
};

// tensors: the table in each trace. `reason` says why there is no fit.
std::optional<TableFit> fit_table(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                  std::string& reason);

}  // namespace thaw::lift
