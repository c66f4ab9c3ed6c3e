// A table seen by a generator: the axes that grow with the input first, then its other entries as columns.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/solve/solve.h"
#include "thaw/lift/table/formula/formula.h"

namespace thaw::lifting {

ir::DataType type_of(Kind kind);  // of what is computed of it

struct View {
  ir::DataType type = ir::DataType::kFloat;
  std::vector<dim::Dim> dims;  // of the table
  std::vector<size_t> axes;    // those that grow
  std::vector<Size> growing;   // their sizes
  std::vector<Size> sides;     // of the table that this one was read from, by a key
  int64_t width = 1;           // entries at each position of them
  Kind kind = Kind::kReal;
  double tolerance = 0;                      // relative to 1 or the entry
  bool is_rounded = false;                   // whether entries may be as far off as float32 makes what gives them
  bool has_gaps = false;                     // whether NaN is an entry that is not known: anything is close to it
  std::vector<std::vector<double>> entries;  // by trace

  size_t traces() const { return entries.size(); }
  View without_entries() const;  // with an empty list for each trace
  bool exact() const { return kind != Kind::kReal; }
  bool close(double a, double b) const;
  // With one axis that grows.
  const Size& length() const { return growing.front(); }
  double at(size_t trace, int64_t row, int64_t column) const {
    return entries[trace][static_cast<size_t>(row * width + column)];
  }
  int last_axis() const { return static_cast<int>(growing.size()); }  // of the columns, in formulas
  std::vector<dim::Dim> formula_axes(int64_t columns) const;
};

// sizes: of each axis of the table, where they are known already; else they are solved, with what stands around it.
std::optional<View> view_of(std::span<const ir::Tensor* const> tensors, const Solver& solver, std::string& reason,
                            std::span<const std::optional<Size>> sizes = {}, const Around& around = {});

// The largest entry, or 1; nullopt where a trace has none, or an infinite one.
std::optional<double> scale_of(const View& view);

// One of the columns, as a table of its own.
View column_of(const View& view, int64_t column);

// False where a size in it went past the limits of its scope: what is not known cannot be written.
bool can_be_emitted(const Formula& formula);

// Whether the formula gives `count` columns of the table from the first one on, in every trace.
bool holds(const View& view, const Formula& formula, int64_t first_column, int64_t count);

// Formulas for so many columns each, as the table.
struct Part {
  Formula formula;
  int64_t columns = 1;
};
ir::Value* emit_parts(const View& form, std::span<const Part> parts, TableEmitter& emitter);

// What was made of the kind of the view, the growing axes first, in the table's shape and type.
ir::Value* emit_shaped(const View& form, ir::Value* table, TableEmitter& emitter);

}  // namespace thaw::lifting
