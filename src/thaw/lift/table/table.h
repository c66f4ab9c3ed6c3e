// Tables: constants with axes that grow with the input, and the generators that make them.
//
// A generator is fitted on all traces at once and must give every entry of every table; generators.h lists them, the
// simplest is tried first.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/lift/table/fitted_before.h"
#include "thaw/lift/table/input_lines.h"
#include "thaw/lift/table/keys/grid_layout.h"
#include "thaw/lift/table/waves/frequencies.h"

namespace thaw::lifting {

struct TableFit {
  std::string description;                        // "cos of a multiple of row of blocks of 2 x 2 in a grid …"
  std::function<ir::Value*(TableEmitter&)> emit;  // the table, of its type and shape
  bool departs = false;                           // it is not what the traces have, where their exporter was off
  ops::Shape sizes = {};                          // of a list of sizes: each
  bool leaves_out_cells = false;                  // near the edges of grids (inner_cells.cc)
  bool is_guessed = false;                        // of sizes: one of them is met by chance easily (Rule)
  // Of a table: numbers and sizes in each of its formulas.
  struct Made {
    std::vector<double> numbers;
    ops::Shape sizes;
  };
  std::vector<Made> formulas = {};
  ops::Shape growing = {};  // of a table: the sizes of its axes that grow, where it was fitted along them
  std::vector<std::pair<dim::Dim, int64_t>> repeated =
      {};  // of such axes: after how many places the table begins again
};

// What fitting one table may use of others: sides of grids of positions that were read, pieces that are joined somewhere,
// and how rows are counted.
struct TableContext {
  std::span<const Variable> variables;
  const Solver& solver;
  std::vector<int64_t> sides = {};
  Around around = {};                              // of the node that the table stands at
  int64_t unit = 1;                                // of which the entries of a part of the table are counts
  bool pads = false;                               // whether it stands where a Pad's amounts do
  std::map<size_t, dim::Dim> taken = {};           // its elements that are taken for sizes (Difference)
  bool holds_sizes = false;                        // whether it is a list of sizes, each of which is solved for itself
  std::vector<std::vector<InputLine>> lines = {};  // of inputs, where the variables are not all of their values
  Grids grids = {};
  std::map<std::vector<int64_t>, std::shared_ptr<Layouts>> layouts = {};  // by the lengths in the traces
  KnownFrequencies frequencies = {};
  JoinedSizes joined = {};
  std::vector<double> turns = {};         // over its length, of the waves of a table that are told
  std::optional<double> open_turns = {};  // the fewest of a column that is a wave, but not told by itself
  std::optional<bool> over_longer = {};   // whether its waves are over the longer of two sides, where a column tells
  bool antialias = false;  // whether the model's opset has anti-aliasing, so that what was folded may have had it
  FittedBefore* before = nullptr;  // grows; none where nothing is kept
  std::string untold = {};  // what the traces leave open of what a table was interpolated from, where that is known
};

// A list of sizes, of the type and shape of a tensor.
TableFit fit_of_sizes(const ops::Shape& sizes, const ir::Tensor& like);

// A short list of sizes, each element for itself; none of anything else.
std::optional<TableFit> fit_sizes(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                  std::string& reason);

// A table of the right sizes that holds nothing yet, which tells inference what is read by it; none where its sizes are the
// same in every trace, or one of them is not solved.
std::optional<TableFit> fit_shape(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                  std::string& reason);

std::vector<const ir::Tensor*> pointers_to(const std::vector<ir::Tensor>& tensors);

// tensors: the table in each trace. `reason` says why there is no fit.
std::optional<TableFit> fit_table(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                  std::string& reason);

}  // namespace thaw::lifting
