// Generators: what tables are made of. Each looks at a table in all traces and gives formulas for its columns, or nothing where an entry
// differs. generators.cc has all of them as the rows of one table, in the order in which they are tried. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/joined_pieces.h"
#include "thaw/lift/table/table.h"

namespace thaw::lifting {

struct Generated {
  Generated() = default;
  explicit Generated(std::string text, std::vector<Part> formulas = {})
      : description(std::move(text)), parts(std::move(formulas)) {}
  Generated(std::string text, Formula formula, int64_t columns = 1)
      : description(std::move(text)), parts{{std::move(formula), columns}} {}
  // Of a single column, or of columns that are all of one formula.
  const Formula& formula() const { return parts.front().formula; }

  std::string description;
  std::vector<Part> parts;
  bool departs = false;  // from the traces, where their exporter was off
  // Of a wave: how often it turns over the length, and whether one that turns less often may give the same entries by another key.
  double turns = 0;
  bool may_be_slower = false;
};
// Of a table that other nodes make, its growing axes first: its entries in their order, whatever the shape.
Generated made(const View& view, std::string description, std::function<ir::Value*(TableEmitter&)> emit);
// The formula, where it gives the column's entries in every trace.
std::optional<Generated> checked(const View& column, Formula formula, std::string description);
// As it is written.
TableFit made_of(const View& view, Generated generated);

Layouts& layouts_of(const Size& length, TableContext& context);

// What a generator looks at: a table, and the ways in which its rows may be counted.
class Given {
 public:
  static constexpr int kMostDigits = 3;
  Given(const View& of, TableContext& with, int most_digits = kMostDigits)
      : view(of), context(with), digits(most_digits) {}

  const View& view;
  TableContext& context;
  int digits;  // into which an index may still be taken apart

  // Of one axis that grows; worked out where they are asked for.
  const std::vector<LayoutPtr>& layouts() const;
  const std::vector<CounterPtr>& counters() const;
  // That one of its columns speaks for, beside the grids above.
  std::vector<CounterPtr> digits_told_by(int64_t column) const;
  // How far a row is from the last one or the middle, or how far behind a past: may be negative.
  const std::vector<CounterPtr>& distances() const;

 private:
  mutable std::optional<std::vector<LayoutPtr>> layouts_;
  mutable std::optional<std::vector<CounterPtr>> counters_, distances_;
};
using Fit = std::optional<Generated>(const Given&);

// Tables by what is looked at: the rows of generators.cc that are for these, one after the other.
Fit fit_whole_table;  // as the model has it
Fit fit_list;         // with one axis that grows
Fit fit_rows;         // such a list, without rows that stand before it, and without any that are kept
Fit fit_axes;         // with several axes that grow
Fit fit_sequence;     // a single column, as a function of its index
Fit fit_together;     // a single column that depends on all its axes
Fit fit_any;          // with any axes that grow, by formulas or as what was learned
Fit fit_learned;      // numbers that were learned, and are repeated, resized or cut

// The generators that are rows of generators.cc alone, which says what each is.
//
// Of one axis:
Fit fit_averages, fit_columns, fit_few_positions, fit_lines, fit_reordering, fit_grid_indices, fit_interpolation,
    fit_sequences, fit_mixed_angles, fit_wave_families, fit_waves_of_one_height;
Fit fit_step_in_last_columns, fit_after_first, fit_ends, fit_one_position, fit_rows_of_cells;
Fit fit_padded_behind, fit_padded_in_front, fit_padded_on_both_sides, fit_lookup_by_edge, fit_lookup_by_counter,
    fit_lookup_by_cell;
// Of a single column.
Fit fit_whole_numbers, fit_sinusoid, fit_logit, fit_log_distance, fit_sinusoid_of_place, fit_positions, fit_weights,
    fit_single_places, fit_raised_sinusoid_of_place, fit_same, fit_over_size, fit_multiple;
// Of several axes.
Fit fit_combinations_of_axes, fit_columns_of_axes;
Fit fit_sum, fit_product, fit_sum_through_middle, fit_outside, fit_mask_after_first, fit_diagonals_behind_first,
    fit_side_by_side;
// Of any.
Fit fit_tiled, fit_corner, fit_kept_part, fit_resized, fit_factorized, fit_by_keys_behind_first;

// A table of entries that are kept, as its nodes hold it.
ir::Value* emit_kept(const std::vector<double>& entries, const std::vector<int64_t>& dims, Kind kind, TableEmitter& e);

// What generators are made of that are for parts of a table.
Fit fit_linspace;    // (index + shift) * span / length + start: one line a trace
Fit fit_share;       // one over a size, the same in every row
Fit fit_line;        // a size times the index plus a size
Fit fit_whole_line;  // the same, of integers that may be written as reals
Fit fit_step;        // two values, the second from some position on
Fit fit_constant;    // one number everywhere
Fit fit_mask;        // of two axes: one value where groups of positions are so far apart, another elsewhere
Fit fit_diagonals;   // of two axes: a function of i - j, or of |i - j|
// Columns that are functions of one of these counters: affine, or cosines or sines of a multiple.
std::optional<Generated> fit_columns_by(const Given& list, std::span<const CounterPtr> counters);
// Columns that are affine in a row or a column of a grid of cells.
Fit fit_lines_of_cells;
// Columns, eight or more, that are all sums of a few, each times a learned number, and of one that is added: what a linear layer makes of
// coordinates.
Fit fit_learned_combinations;
// Of entries that are no function of a formula, by the distance of row and column: distances[k] from the last column's on.
std::optional<Generated> fit_distance_table(const View& distances, const View& table);
// A table of two axes, one of them a grid, behind a first row and column of their own (of a class token).
std::optional<Generated> fit_behind_first(const Given& table, Fit& fit_body);

// The two values of such tables, the first entry's first; nullopt of others.
std::optional<std::pair<double, double>> two_values(const View& view);
// Two values in rows of one list: where the second begins in each trace, if a row holds both; and the rule.
std::optional<std::vector<int64_t>> ends_in_rows(const View& view);
void count_rows(View& view, const Solver& solver);  // as many as hold what is before: what is behind fills the last one
Fit fit_step_in_rows;

// Tensors whose sizes are not those of a table of one form.
//
// A few real numbers, each computed of a size. Of three traces or more.
std::optional<TableFit> fit_reals(std::span<const ir::Tensor* const> tensors, const TableContext& context);
// A column for each of a few cells that the rows are pooled to, no fewer than a number, where the sides of some traces are smaller than
// that.
std::optional<TableFit> fit_growing_averages(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                             const Around& around);
// Of several images, whose grids are the lines of an input: a part for each, one after another. Also the lengths of their windows, and
// sums of these. `reason` is set where the rows are so many, and a part is not explained.
std::optional<TableFit> fit_one_after_another(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                              std::string& reason);
// A table of pieces along an axis, as long as those that the model joins somewhere: the levels of a pyramid. Each by any
// of these.
std::optional<TableFit> fit_joined(const JoinedPieces& pieces, TableContext& context);
// A table over the cells of a grid, or of several that are joined, of which those near an edge are left out. whole: the table, where its sizes are
// known.
std::optional<TableFit> fit_inner_cells(const View* whole, const JoinedPieces& pieces, TableContext& context);
// Lists of window lengths, and their sums with a leading 0. Their own lengths are no size of the inputs but counted.
// `nearest`: of a list that is none, the windows of a grid that come nearest.
std::optional<TableFit> fit_window_list(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                        std::string& nearest);

// Why a list is not explained: the generator that comes nearest.
std::string nearest_of(const Given& list);

}  // namespace thaw::lifting
