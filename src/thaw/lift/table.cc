#include "thaw/lift/table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text.h"
#include "thaw/lift/generators.h"

namespace thaw::lift {
namespace {

using dim::Dim;

constexpr int64_t kMostEntries = int64_t{1} << 26;

// The shape of the table: one axis grows with the input.
struct Form {
  std::vector<Dim> dims;
  size_t axis = 0;  // that grows
  std::vector<int64_t> lengths;
};

std::optional<Form> form_of(std::span<const ir::Tensor* const> tensors, const Solver& solver, std::string& reason) {
  Form form;
  std::vector<size_t> growing;
  const size_t rank = tensors.front()->dims.size();
  for (const ir::Tensor* tensor : tensors) {
    if (tensor->dims.size() == rank && tensor->data_type == tensors.front()->data_type) continue;
    reason = "its rank or type differs between the traces";
    return std::nullopt;
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    std::vector<int64_t> sizes;
    for (const ir::Tensor* tensor : tensors) sizes.push_back(tensor->dims[axis]);
    const auto size = solver.solve(sizes);
    if (!size) {
      reason = fmt::format("no size of the inputs gives its axis {}: {}", axis, fmt::join(sizes, ", "));
      return std::nullopt;
    }
    form.dims.push_back(*size);
    if (!size->is_constant()) growing.push_back(axis);
    if (!size->is_constant()) form.lengths = sizes;
  }
  if (growing.size() != 1) {
    reason =
        growing.empty() ? "its entries differ and no axis grows" : fmt::format("{} of its axes grow", growing.size());
    return std::nullopt;
  }
  form.axis = growing.front();
  return form;
}

std::optional<Rows> rows_of(std::span<const ir::Tensor* const> tensors, const Form& form, std::string& reason) {
  Rows rows;
  const ir::DataType type = tensors.front()->data_type;
  rows.is_integer = ir::is_integer(type) || type == ir::DataType::kBool;
  if (!rows.is_integer && !ir::is_floating(type)) {
    reason = "it does not hold numbers";
    return std::nullopt;
  }
  for (size_t k = 0; k < tensors.size(); ++k) {
    const ir::Tensor& tensor = *tensors[k];
    if (tensor.num_elements() > kMostEntries) {
      reason = fmt::format("it has {} entries", tensor.num_elements());
      return std::nullopt;
    }
    const std::vector<double> values = tensor.to_double();
    // [before, length, after] -> [length, before * after]
    const auto begin = tensor.dims.begin();
    const auto at = static_cast<std::ptrdiff_t>(form.axis);
    const int64_t before = std::accumulate(begin, begin + at, int64_t{1}, std::multiplies<>());
    const int64_t after = std::accumulate(begin + at + 1, tensor.dims.end(), int64_t{1}, std::multiplies<>());
    const int64_t length = tensor.dims[form.axis];
    rows.width = before * after;
    std::vector<double>& turned = rows.entries.emplace_back(values.size());
    for (int64_t b = 0; b < before; ++b)
      for (int64_t i = 0; i < length; ++i)
        for (int64_t a = 0; a < after; ++a)
          turned[static_cast<size_t>(i * rows.width + b * after + a)] =
              values[static_cast<size_t>((b * length + i) * after + a)];
  }
  return rows;
}

// [length, width] back to the table's shape and type.
ir::Value* shaped(TableEmitter& e, ir::Value* rows, const Form& form, ir::DataType type, bool is_integer) {
  std::vector<ir::Value*> target{e.size(form.dims[form.axis])};
  std::vector<int64_t> permutation;
  for (size_t axis = 0, next = 1; axis < form.dims.size(); ++axis) {
    if (axis == form.axis) {
      permutation.push_back(0);
    } else {
      target.push_back(e.size(form.dims[axis]));
      permutation.push_back(static_cast<int64_t>(next++));
    }
  }
  ir::Value* table = e.emit("Reshape", {rows, e.concat(target, 0)});
  if (form.axis != 0) table = e.emit("Transpose", {table}, {{"perm", permutation}});
  const ir::DataType made = is_integer ? ir::DataType::kInt64 : ir::DataType::kFloat;
  return type == made ? table : e.cast(table, type);
}

const char* name_of(Coordinate c) {
  return c == Coordinate::kIndex ? "index" : c == Coordinate::kRow ? "row" : "column";
}
const char* name_of(Function f) {
  return f == Function::kAffine ? "affine in" : f == Function::kCos ? "cos of a multiple of" : "sin of a multiple of";
}

// Consecutive columns of one kind, as one outer product of the coordinate and their scales.
ir::Value* emit_run(TableEmitter& e, ir::Value* coordinate, std::span<const ColumnFit> run, bool is_integer) {
  const auto count = static_cast<int64_t>(run.size());
  ir::Value* column = e.column(coordinate);
  if (is_integer) {
    std::vector<int64_t> scales, offsets;
    for (const ColumnFit& fit : run) {
      scales.push_back(std::llround(fit.scale));
      offsets.push_back(std::llround(fit.offset));
    }
    return e.add(e.mul(column, e.ints(scales)), e.ints(offsets));
  }
  std::vector<float> scales, offsets;
  for (const ColumnFit& fit : run) {
    scales.push_back(static_cast<float>(fit.scale));
    offsets.push_back(static_cast<float>(fit.offset));
  }
  ir::Value* scaled = e.mul(e.cast(column, ir::DataType::kFloat), e.floats({1, count}, scales));
  if (run.front().function == Function::kCos) return e.emit("Cos", {scaled});
  if (run.front().function == Function::kSin) return e.emit("Sin", {scaled});
  return e.add(scaled, e.floats({1, count}, offsets));
}

size_t end_of_run(const std::vector<ColumnFit>& fits, size_t begin) {
  size_t end = begin + 1;
  while (end < fits.size() && fits[end].same_kind(fits[begin])) ++end;
  return end;
}

std::optional<TableFit> fit_columns(const Rows& rows, const Form& form, const std::vector<Layout>& layouts,
                                    ir::DataType type) {
  // A sine of small angles looks like a line: all columns are of one function where they can be.
  constexpr Function kEach[] = {Function::kAffine, Function::kCos, Function::kSin};
  std::vector<ColumnFit> fits;
  const auto fit_all = [&](std::span<const Function> functions) {
    fits.clear();
    for (size_t column = 0; column < static_cast<size_t>(rows.width); ++column) {
      const auto fit = fit_column(rows, column, layouts, functions);
      if (!fit) return false;
      fits.push_back(*fit);
    }
    return true;
  };
  const bool alike =
      std::any_of(std::begin(kEach), std::end(kEach), [&](const Function& f) { return fit_all({&f, 1}); });
  if ((!alike && !fit_all(kEach)) || fits.empty()) return std::nullopt;
  for (size_t begin = 0; begin < fits.size();) {
    const size_t end = end_of_run(fits, begin);
    straighten(rows, begin, layouts, std::span(fits).subspan(begin, end - begin));
    begin = end;
  }
  TableFit table;
  const ColumnFit& first = fits.front();
  table.description =
      fmt::format("{} {} of {}", name_of(first.function), name_of(first.coordinate), layouts[first.layout].describe());
  const bool is_integer = rows.is_integer;
  table.emit = [fits, form, layouts, type, is_integer](TableEmitter& e) {
    std::vector<ir::Value*> parts;
    for (size_t begin = 0; begin < fits.size();) {
      const size_t end = end_of_run(fits, begin);
      const LayoutNodes nodes = emit_layout(layouts[fits[begin].layout], e);
      parts.push_back(
          emit_run(e, nodes.of(fits[begin].coordinate), std::span(fits).subspan(begin, end - begin), is_integer));
      begin = end;
    }
    return shaped(e, e.concat(parts, 1), form, type, is_integer);
  };
  return table;
}

std::optional<TableFit> fit_indices(const Rows& rows, const Form& form, const std::vector<Layout>& layouts,
                                    ir::DataType type, const Solver& solver) {
  std::vector<GridIndexFit> fits;
  for (int64_t column = 0; column < rows.width; ++column) {
    const auto fit = fit_grid_index(rows, static_cast<size_t>(column), layouts, solver);
    if (!fit) return std::nullopt;
    fits.push_back(*fit);
  }
  if (fits.empty()) return std::nullopt;
  TableFit table;
  table.description = fmt::format("{} * row + {} * column of {}", dim::to_string(fits[0].row_step),
                                  dim::to_string(fits[0].column_step), layouts[fits[0].layout].describe());
  table.emit = [fits, form, layouts, type](TableEmitter& e) {
    std::vector<ir::Value*> columns;
    for (const GridIndexFit& fit : fits) {
      const LayoutNodes nodes = emit_layout(layouts[fit.layout], e);
      ir::Value* sum = e.add(e.mul(nodes.row, e.size(fit.row_step)), e.mul(nodes.column, e.size(fit.column_step)));
      columns.push_back(e.column(e.add(sum, e.size(fit.offset))));
    }
    return shaped(e, e.concat(columns, 1), form, type, true);
  };
  return table;
}

// Along one axis: the entries before and after a position, and the weight of the one after.
struct Taps {
  ir::Value *low, *high, *rest;
};

Taps emit_taps(TableEmitter& e, ir::Value* index, Dim size, int64_t side) {
  ir::Value* steps = e.emit("Max", {e.size(size - Dim(1)), e.ints({1})});
  ir::Value* scaled = e.mul(index, e.ints({side - 1}));
  Taps taps;
  taps.low = e.div(scaled, steps);
  taps.high = e.emit("Min", {e.add(taps.low, e.ints({1})), e.ints({side - 1})});
  ir::Value* exact = e.div(e.cast(scaled, ir::DataType::kFloat), e.cast(steps, ir::DataType::kFloat));
  taps.rest = e.sub(exact, e.cast(taps.low, ir::DataType::kFloat));
  return taps;
}

std::optional<TableFit> fit_interpolation(const Rows& rows, const Form& form, const std::vector<Layout>& layouts,
                                          ir::DataType type, TableContext& context) {
  std::vector<int64_t> sides = context.sides;
  if (rows.is_integer) {
    double largest = 0;
    for (const auto& entries : rows.entries)
      for (const double entry : entries) largest = std::max(largest, entry);
    sides.insert(sides.begin(), std::llround(std::ceil(std::sqrt(largest + 1))));
  }
  const auto fits = fit_corners(rows, layouts, sides);
  if (!fits) return std::nullopt;
  const int64_t side = fits->front().side;
  if (std::find(context.sides.begin(), context.sides.end(), side) == context.sides.end()) context.sides.push_back(side);
  TableFit table;
  const bool is_integer = rows.is_integer;
  const Layout& layout = layouts[fits->front().layout];
  table.description = fmt::format("{} of bilinear interpolation from {} x {} positions over {}",
                                  is_integer ? "corners" : "weights", side, side, layout.describe());
  table.emit = [fits = *fits, form, layout, type, is_integer, side](TableEmitter& e) {
    const LayoutNodes nodes = emit_layout(layout, e);
    const Taps y = emit_taps(e, nodes.row, layout.height, side), x = emit_taps(e, nodes.column, layout.width, side);
    std::vector<ir::Value*> columns;
    for (const CornerFit& fit : fits) {
      if (is_integer) {
        ir::Value* row = e.mul(fit.lower_row ? y.low : y.high, e.ints({side}));
        columns.push_back(e.column(e.add(row, fit.lower_column ? x.low : x.high)));
      } else {
        ir::Value* one = e.floats({1}, {1.0F});
        const auto weight = [&](const Taps& taps, bool lower) { return lower ? e.sub(one, taps.rest) : taps.rest; };
        columns.push_back(e.column(e.mul(weight(y, fit.lower_row), weight(x, fit.lower_column))));
      }
    }
    return shaped(e, e.concat(columns, 1), form, type, is_integer);
  };
  return table;
}

// A short list of sizes: each element for itself.
std::optional<TableFit> fit_sizes(std::span<const ir::Tensor* const> tensors, const Solver& solver,
                                  std::string& reason) {
  constexpr int64_t kMostSizes = 64;
  const ir::Tensor& first = *tensors.front();
  const bool alike = std::all_of(tensors.begin(), tensors.end(), [&](const ir::Tensor* t) {
    return t->dims == first.dims && t->data_type == first.data_type;
  });
  if (!alike || !ir::is_integer(first.data_type) || first.num_elements() > kMostSizes) return std::nullopt;
  std::vector<std::vector<int64_t>> values;
  for (const ir::Tensor* tensor : tensors) values.push_back(tensor->to_int64());
  ops::Shape sizes;
  std::vector<std::string> text;
  for (size_t i = 0; i < values.front().size(); ++i) {
    std::vector<int64_t> wanted;
    for (const auto& each : values) wanted.push_back(each[i]);
    const auto size = solver.solve(wanted);
    if (!size) {
      reason = fmt::format("no size of the inputs gives its element {}: {}", i, fmt::join(wanted, ", "));
      return std::nullopt;
    }
    sizes.push_back(*size);
    text.push_back(dim::to_string(*size));
  }
  TableFit fit;
  fit.description = fmt::format("[{}]", fmt::join(text, ", "));
  fit.emit = [sizes, dims = first.dims, type = first.data_type](TableEmitter& e) {
    ir::Value* list = sizes.empty() ? e.ints({}) : e.sizes().emit_shape(sizes, "lift_sizes");
    if (dims.size() != 1) list = e.emit("Reshape", {list, e.ints(dims)});
    return type == ir::DataType::kInt64 ? list : e.cast(list, type);
  };
  return fit;
}

}  // namespace

std::optional<TableFit> fit_table(std::span<const ir::Tensor* const> tensors, TableContext& context,
                                  std::string& reason) {
  if (auto fit = fit_sizes(tensors, context.solver, reason)) return fit;
  std::string form_reason;
  const auto form = form_of(tensors, context.solver, form_reason);
  if (!form) {
    if (reason.empty()) reason = form_reason;
    return std::nullopt;
  }
  const auto rows = rows_of(tensors, *form, reason);
  if (!rows) return std::nullopt;
  const ir::DataType type = tensors.front()->data_type;
  const std::vector<Layout> layouts = possible_layouts(form->dims[form->axis], form->lengths, context.variables);
  if (auto fit = fit_columns(*rows, *form, layouts, type)) return fit;
  if (auto fit = fit_indices(*rows, *form, layouts, type, context.solver)) return fit;
  if (auto fit = fit_interpolation(*rows, *form, layouts, type, context)) return fit;
  reason = "no generator gives its entries";
  return std::nullopt;
}

}  // namespace thaw::lift
