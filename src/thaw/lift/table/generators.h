// Generators: what tables are made of. Each looks at a table in all traces and gives formulas for its columns, or
// nothing where an entry differs. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/table.h"

namespace thaw::lifting {

struct Generated {
  std::string description;
  std::vector<Part> parts;
  bool departs = false;  // from the traces, where their exporter was off
};
// Of a table that other nodes make, its growing axes first: its entries in their order, whatever the shape.
Generated made(const View& view, std::string description, std::function<ir::Value*(TableEmitter&)> emit);

// A table with one axis that grows, and the ways its rows may be counted.
struct RowTable {
  const View& view;
  std::vector<LayoutPtr> layouts;
  std::vector<CounterPtr> counters;
  TableContext& context;
  // How far a row is from the last one or the middle, or how far behind a past: may be negative.
  std::vector<CounterPtr> distances = {};
};
RowTable rows_of(const View& view, TableContext& context);
Layouts& layouts_of(const Size& length, TableContext& context);

// A column for each of a few cells that the rows are pooled to: what the entries of a cell weigh in its average, 0 elsewhere.
std::optional<Generated> fit_averages(const RowTable& table);
// The same of no fewer cells than a number, where the sides of some traces are smaller than that.
std::optional<TableFit> fit_growing_averages(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                             const Around& around);

// Numbers that come again, but for what both ends lack of them: what windows weigh together that overlap.
std::optional<Generated> fit_ends(const RowTable& table);

// Columns that are affine in a coordinate (arange, positions, an outer product with a vector), or cosines or sines of a
// multiple of it (rotary angles).
std::optional<Generated> fit_columns(const RowTable& table);

// Columns that are cosines or sines of a multiple of the row of a grid and another of its column, added.
std::optional<Generated> fit_mixed_angles(const RowTable& table);

// A single column as a function of the index, which may differ from size to size: sizes times the index, shares of the
// length (linspace, nearest and neighbouring positions of another length), digits, limits.
struct Sequence {
  std::string description;
  Formula formula;  // over axis 0
};
// The formula, where it gives the column's entries in every trace.
std::optional<Sequence> checked(const View& column, Formula formula, std::string description);
std::optional<Sequence> fit_sequence(const View& column, TableContext& context);
// (index + shift) * span / length + start, as linspace and centres of cells write it: one line a trace.
std::optional<Sequence> fit_linspace(const View& column);
// One over a size, the same in every row: how large a cell is.
std::optional<Sequence> fit_share(const View& column, const Solver& solver);
// log(p / (1 - p)) of such places p between 0 and 1, or of such a share, in float32: how detectors keep their anchors; also with a small
// number added on both sides.
std::optional<Sequence> fit_logit(const View& column, const Solver& solver);
// log(1 + distance from the middle) with its sign, times a number, and a number; also of distances of which the farthest is made 8, or
// that are each times a number (8 over the farthest of another window).
std::optional<Sequence> fit_log_distance(const View& column);
// Indices into another length: one of the sizes, or the number that the entries speak for.
std::optional<Sequence> fit_positions(const View& column, const TableContext& context);
// Weights of neighbours: how fast they grow tells the other length, where it is the shorter.
std::optional<Sequence> fit_weights(const View& column, const TableContext& context);
// A line only: a size times the index plus a size.
std::optional<Sequence> fit_line_of(const View& column, TableContext& context);
// The same, of integers that may be written as reals, in a counter instead of the index.
std::optional<Sequence> fit_line_in(const View& column, const Counter& counter, TableContext& context);
// A function of a counter instead of the index.
std::optional<Sequence> fit_sequence_in(const View& column, const Counter& counter, TableContext& context);

// Where the positions of one length fall on another, in float32 step by step: linear interpolation that the exporter took
// apart. Rounding puts a place that is exactly on an entry before or behind it, here and in its weight alike.
std::optional<Sequence> fit_single_places(const View& column, TableContext& context);

// A cosine or sine of a place between 0 and 1, or -1 and 1 (of normalised coordinates).
std::optional<Sequence> fit_sinusoid_of_place(const View& column);
// The same and a number: with what was learned of the level of a pyramid.
std::optional<Sequence> fit_raised_sinusoid_of_place(const View& column);

// Two values in rows of one list: where the second begins in each trace, if a row holds both; and the rule.
std::optional<std::vector<int64_t>> ends_in_rows(const View& view);
void count_rows(View& view, const Solver& solver);  // as many as hold what is before: what is behind fills the last one
std::optional<Generated> fit_step_in_rows(const View& view, const std::vector<int64_t>& ends, const Solver& solver);
// The same in the last columns alone, behind others: what a chunk sees of itself behind what it sees of the one before.
std::optional<Generated> fit_step_in_last_columns(const View& view, TableContext& context);

// Columns that are such lines.
std::optional<Generated> fit_lines(const RowTable& table);
// Columns that are affine in a row or a column of a grid of cells.
std::optional<Generated> fit_lines_of_cells(const RowTable& table);

// Of eight columns or more: all of them sums of a few, each times a learned number, and of one that is added: what a linear layer makes
// of coordinates.
std::optional<Generated> fit_learned_combinations(const View& view, TableContext& context);

// Columns that are such a function of the index or of a counter of a grid, or a sum or product of one of its rows and
// one of its columns.
std::optional<Generated> fit_sequences(const RowTable& table);

// Indices that reorder a grid: where the entries of one layout stand in another, rolled or not; and row and column
// times sizes of the model.
std::optional<Generated> fit_reordering(const RowTable& table);
std::optional<Generated> fit_grid_indices(const RowTable& table);

// The corners, or their weights, of bilinear interpolation from a square of positions.
std::optional<Generated> fit_interpolation(const RowTable& table);

// Rows of a lookup table, which is one larger table: its first rows, its last or middle ones, those of a counter or of the cells of
// a grid. A size beyond it is an error of the lifted model. Also rows that are followed, or led, by padding.
std::optional<Generated> fit_lookup_table(const RowTable& table);
// A few fixed rows (of a class token) before a list of another length.
std::optional<Generated> fit_after_first(const RowTable& table);

// A list that is a table of two axes whose sizes tensors have, row by row.
std::optional<Generated> fit_folded(const View& list, TableContext& context);

// Learned entries that come again and again along each axis that grows.
std::optional<Generated> fit_tiled(const View& view);

// Learned positions of a grid that were interpolated before the export, where one trace has them at their own size.
std::optional<Generated> fit_resized(const View& view, TableContext& context);
// Learned positions of the rows of a grid and of its columns, added, each interpolated before the export.
std::optional<Generated> fit_factorized(const View& view, TableContext& context);

// A few rows for each cell of a grid: anchors.
std::optional<TableFit> fit_rows_of_cells(const View& view, TableContext& context);

// Of several axes: the first entries along each of one larger table, before a few that stay. A size beyond it is an error of the lifted
// model.
std::optional<Generated> fit_corner(const View& view);

// Learned tables, by any of these.
std::optional<Generated> fit_learned(const View& view, TableContext& context);

// Of several images, whose grids are the lines of an input: a part for each, one after another. Also the lengths of their windows, and
// sums of these. `reason` is set where the rows are so many, and a part is not explained.
std::optional<TableFit> fit_one_after_another(std::span<const ir::Tensor* const> tensors, const TableContext& context,
                                              std::string& reason);

// A table of pieces along an axis, as long as those that the model joins somewhere: the levels of a pyramid. Each by any
// of these.
std::optional<TableFit> fit_joined(std::span<const ir::Tensor* const> tensors, TableContext& context);

// A list with one axis that grows, by any of these.
std::optional<Generated> fit_list(const View& view, TableContext& context);
// The same without looking for rows that stand before it.
std::optional<Generated> fit_whole_list(const RowTable& table);
// A row that is as wide in every trace: multiples of a size, or their cosines and sines.
std::optional<Generated> fit_one_position(const View& row, const TableContext& context);

// Tables with several axes that grow: functions of one axis each, sums and products of them; functions of the
// difference of two; masks between two.
std::optional<Generated> fit_axes(const View& view, TableContext& context);
// A table of two axes, one of them a grid, behind a first row and column of their own (of a class token).
using FitTable = std::function<std::optional<Generated>(const View&, TableContext&)>;
std::optional<Generated> fit_behind_first(const View& view, TableContext& context, const FitTable& fit_body);
// A single column that depends on all its axes, by any of these.
std::optional<Sequence> fit_together(const View& view, TableContext& context);
// Of two axes, one a few times as long as the other: a table for each time.
std::optional<Sequence> fit_side_by_side(const View& view, TableContext& context);
// Of two axes and a single column. A function of i - j, or of |i - j|.
std::optional<Sequence> fit_diagonals(const View& view, TableContext& context);
// Of entries that are no function of a formula, by the distance of row and column: distances[k] from the last column's on.
std::optional<Sequence> fit_distance_table(const View& distances, const View& table);
// Of entries that are told by the distance of two positions, in a list that counts from 0 again behind its first part.
std::optional<Sequence> fit_positions_again(const View& view, TableContext& context);
// The two values of such tables, the first entry's first; nullopt of others.
std::optional<std::pair<double, double>> two_values(const View& view);
// Two values: one where the groups of i and j (windows, frames, chunks, the positions themselves) are so far apart.
std::optional<Sequence> fit_mask(const View& view, TableContext& context);
// Two values, of the cells of a grid that grows: one where both are before a cut along its rows, or columns, or both behind it.
std::optional<Sequence> fit_cut_mask(const View& view, TableContext& context);
// The same as fit_mask behind a first column that is one value: what every position may see (ProphetNet's streams).
std::optional<Sequence> fit_mask_after_first(const View& view, TableContext& context);

// A few real numbers, each computed of a size. Of three traces or more.
std::optional<TableFit> fit_reals(std::span<const ir::Tensor* const> tensors, const TableContext& context);

// Why a list is not explained: the generator that comes nearest.
std::string nearest_of(const RowTable& table);

// Lists of window lengths, and their sums with a leading 0. Their own lengths are no size of the inputs but counted.
struct WindowList {
  std::string description;
  View form;  // of the list, without entries
  Formula formula;
};
// `nearest`: of a list that is none, the windows of a grid that come nearest.
std::optional<WindowList> fit_window_list(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                          std::string& nearest);

}  // namespace thaw::lifting
