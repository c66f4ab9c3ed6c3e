#include "thaw/lift/table/table_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostTableEntries = int64_t{1} << 26;

double tolerance_of(ir::DataType type) {
  // Of float32 tables that were computed in another order; half types are rounded once more.
  if (type == ir::DataType::kFloat16) return 1e-3;
  return type == ir::DataType::kBfloat16 ? 8e-3 : 2e-6;
}

// The axes of `from` in another order.
std::vector<double> turned(const std::vector<double>& values, const std::vector<int64_t>& dims,
                           const std::vector<size_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return values;
  std::vector<size_t> strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * static_cast<size_t>(dims[axis]);
  std::vector<double> out;
  out.reserve(values.size());
  std::vector<int64_t> at(order.size(), 0);
  for (size_t from = 0; out.size() < values.size();) {
    out.push_back(values[from]);
    for (size_t axis = order.size(); axis-- > 0;) {
      from += strides[order[axis]];
      if (++at[axis] < dims[order[axis]]) break;
      from -= strides[order[axis]] * static_cast<size_t>(dims[order[axis]]);
      at[axis] = 0;
    }
  }
  return out;
}

}  // namespace

View View::without_entries() const {
  View out;
  out.type = type;
  out.dims = dims;
  out.axes = axes;
  out.growing = growing;
  out.sides = sides;
  out.width = width;
  out.kind = kind;
  out.tolerance = tolerance;
  out.is_rounded = is_rounded;
  out.has_gaps = has_gaps;
  out.entries.resize(entries.size());
  return out;
}

bool View::close(double a, double b) const {
  if (has_gaps && (std::isnan(a) || std::isnan(b))) return true;
  if (a == b || exact() || std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

std::vector<dim::Dim> View::formula_axes(int64_t columns) const {
  std::vector<dim::Dim> sizes;
  for (const Size& size : growing) sizes.push_back(size.dim);
  sizes.emplace_back(columns);
  return sizes;
}

std::optional<View> view_of(std::span<const ir::Tensor* const> tensors, const Solver& solver, std::string& reason,
                            std::span<const std::optional<Size>> sizes, const Around& around) {
  View view;
  view.type = tensors.front()->data_type;
  const size_t rank = tensors.front()->dims.size();
  for (const ir::Tensor* tensor : tensors) {
    if (tensor->dims.size() != rank || tensor->data_type != view.type) {
      reason = "its rank or type differs between the traces";
      return std::nullopt;
    }
    if (tensor->num_elements() > kMostTableEntries) {
      reason = fmt::format("it has {} entries", tensor->num_elements());
      return std::nullopt;
    }
  }
  const bool truth = view.type == ir::DataType::kBool;
  if (!truth && !ir::is_integer(view.type) && !ir::is_floating(view.type)) {
    reason = "it does not hold numbers";
    return std::nullopt;
  }
  view.kind = truth ? Kind::kTruth : ir::is_integer(view.type) ? Kind::kInteger : Kind::kReal;
  view.tolerance = tolerance_of(view.type);
  const bool some_empty =
      std::any_of(tensors.begin(), tensors.end(), [](const ir::Tensor* t) { return t->num_elements() == 0; });
  const bool all_empty =
      std::all_of(tensors.begin(), tensors.end(), [](const ir::Tensor* t) { return t->num_elements() == 0; });
  if (some_empty && !all_empty) {
    reason = "it is empty in some of the traces only, which do not tell how it grows";
    return std::nullopt;
  }
  std::vector<size_t> order, fixed;
  for (size_t axis = 0; axis < rank; ++axis) {
    std::vector<int64_t> at;
    for (const ir::Tensor* tensor : tensors) at.push_back(tensor->dims[axis]);
    if (axis < sizes.size() && sizes[axis]) {
      view.dims.push_back(sizes[axis]->dim);
    } else if (const auto size = solve_size(at, solver, around)) {
      view.dims.push_back(size->dim);
    } else {
      reason = fmt::format("no size of the inputs gives its axis {}: {}", axis, fmt::join(at, ", "));
      return std::nullopt;
    }
    if (view.dims.back().is_constant()) {
      fixed.push_back(axis);
      view.width *= at.front();
    } else {
      view.axes.push_back(axis);
      view.growing.push_back({view.dims.back(), at});
    }
  }
  if (view.axes.empty()) {
    // Its size is fixed and what it holds is not: padding up to a limit. All its axes may matter.
    constexpr int64_t kMostFixed = int64_t{1} << 20;
    if (tensors.front()->num_elements() > kMostFixed) {
      reason = "its entries differ and no axis grows";
      return std::nullopt;
    }
    view.width = 1;
    std::vector<size_t> single;
    for (const size_t axis : fixed) {
      const int64_t size = tensors.front()->dims[axis];
      if (size == 1) single.push_back(axis);
      if (size == 1) continue;
      view.axes.push_back(axis);
      view.growing.push_back(constant_size(size, tensors.size()));
    }
    fixed = single;
  }
  if (view.axes.empty()) {
    reason = "its only entry differs and no size of the inputs gives it";
    return std::nullopt;
  }
  order = view.axes;
  order.insert(order.end(), fixed.begin(), fixed.end());
  for (const ir::Tensor* tensor : tensors) {
    constexpr double kLargest = 9007199254740992;  // 2^53: up to it, doubles hold every integer
    const auto& entries = view.entries.emplace_back(turned(tensor->to_double(), tensor->dims, order));
    if (std::any_of(entries.begin(), entries.end(), [](double entry) { return std::isnan(entry); })) {
      reason = "it holds entries that are no numbers";
      return std::nullopt;
    }
    if (view.kind == Kind::kInteger &&
        std::any_of(entries.begin(), entries.end(), [](double entry) { return std::abs(entry) > kLargest; })) {
      reason = "it holds integers above 2^53";
      return std::nullopt;
    }
  }
  return view;
}

std::optional<double> scale_of(const View& view) {
  // The largest numbers of float32 and of float16 stand for infinity in tables, too.
  const double infinite = view.type == ir::DataType::kFloat16 ? 65504 : 1e30;
  double scale = 1;
  for (const auto& entries : view.entries) {
    if (entries.empty()) return std::nullopt;
    for (const double entry : entries) {
      if (!(std::abs(entry) < infinite)) return std::nullopt;
      scale = std::max(scale, std::abs(entry));
    }
  }
  return scale;
}

View column_of(const View& view, int64_t column) {
  View out = view.without_entries();
  out.width = 1;
  for (size_t k = 0; k < view.traces(); ++k)
    for (auto at = static_cast<size_t>(column); at < view.entries[k].size(); at += static_cast<size_t>(view.width))
      out.entries[k].push_back(view.entries[k][at]);
  return out;
}

namespace {

// An expression past the limits of its scope is none that could be emitted.
bool sizes_are_known(const Formula& formula, std::unordered_set<const FormulaNode*>& seen) {
  const FormulaNode& node = formula.node();
  if (!seen.insert(&node).second) return true;
  if (node.op == FormulaOp::kSize && node.size.dim.is_unknown()) return false;
  return std::ranges::all_of(node.operands, [&](const Formula& operand) { return sizes_are_known(operand, seen); });
}

}  // namespace

bool can_be_emitted(const Formula& formula) {
  std::unordered_set<const FormulaNode*> seen;
  return sizes_are_known(formula, seen);
}

bool holds(const View& view, const Formula& formula, int64_t first_column, int64_t count) {
  if (!can_be_emitted(formula)) return false;
  if (formula.kind() != view.kind && (view.kind != Kind::kReal || formula.kind() == Kind::kTruth)) return false;
  constexpr int64_t kFewRows = 16, kEntriesAtOnce = 1 << 16;
  std::vector<double> columns(static_cast<size_t>(count));
  std::iota(columns.begin(), columns.end(), 0);
  for (size_t trace = 0; trace < view.traces(); ++trace) {
    Points points = all_places(view.growing, trace);
    int64_t inner = count;
    for (size_t axis = 1; axis < view.growing.size(); ++axis) inner *= view.growing[axis].at[trace];
    points.positions.push_back(columns);
    // The first few rows tell most of what does not hold.
    const int64_t rows = view.growing[0].at[trace],
                  step = std::max<int64_t>(1, kEntriesAtOnce / std::max<int64_t>(inner, 1));
    for (int64_t begin = 0, end = 0; begin < rows; begin = end) {
      end = formula.node().whole ? rows : std::min(rows, begin + (begin == 0 ? std::min(step, kFewRows) : step));
      auto& positions = points.positions[0];
      positions.resize(static_cast<size_t>(end - begin));
      std::iota(positions.begin(), positions.end(), static_cast<double>(begin));
      const Numbers got = evaluate(formula, points);
      std::optional<Numbers> rounding;  // of the same shape
      const auto is_rounded = [&](double entry, size_t place) {
        constexpr double kOtherOrder = 2,
                         kMost = 1e-4;  // another order of the steps; beyond that anything would be near
        if (!view.is_rounded) return false;
        if (!rounding) rounding = rounding_of(formula, points);
        const double off = rounding->entries[place];
        return off <= kMost && std::abs(entry - got.entries[place]) <= view.tolerance + kOtherOrder * off;
      };
      std::vector<size_t> strides(got.dims.size(), 0);
      size_t stride = 1;
      for (size_t axis = got.dims.size(); axis-- > 0;) {
        if (got.dims[axis] != 1) strides[axis] = stride;
        stride *= static_cast<size_t>(got.dims[axis]);
      }
      // Over all positions of the growing axes, column by column.
      const auto outer = static_cast<size_t>((end - begin) * (inner / std::max<int64_t>(count, 1)));
      std::vector<int64_t> at(view.growing.size(), 0);
      size_t from = 0,
             entry = static_cast<size_t>(begin * (inner / std::max<int64_t>(count, 1)) * view.width + first_column);
      for (size_t i = 0; i < outer; ++i, entry += static_cast<size_t>(view.width)) {
        for (size_t column = 0; column < static_cast<size_t>(count); ++column) {
          const double wanted = view.entries[trace][entry + column];
          const size_t place = from + column * strides.back();
          if (!view.close(wanted, got.entries[place]) && !is_rounded(wanted, place)) return false;
        }
        for (size_t axis = at.size(); axis-- > 0;) {
          from += strides[axis];
          const auto size = static_cast<int64_t>(points.positions[axis].size());
          if (++at[axis] < size) break;
          from -= strides[axis] * static_cast<size_t>(size);
          at[axis] = 0;
        }
      }
    }
  }
  return true;
}

Generated made(const View& view, std::string description, std::function<ir::Value*(TableEmitter&)> emit) {
  std::vector<Formula> at;
  for (int axis = 0; axis < view.last_axis(); ++axis) at.push_back(position(axis));
  auto table = std::make_shared<const MadeTable>(MadeTable{view.growing, view.entries, std::move(emit)});
  const Formula formula = read_made(std::move(table), view.width, view.kind, std::move(at), view.last_axis());
  return {std::move(description), formula, view.width};
}

ir::DataType type_of(Kind kind) {
  constexpr ir::DataType kTypes[] = {ir::DataType::kInt64, ir::DataType::kFloat, ir::DataType::kBool};
  return kTypes[static_cast<size_t>(kind)];
}

ir::Value* emit_parts(const View& form, std::span<const Part> parts, TableEmitter& e) {
  std::vector<ir::Value*> made;
  for (const Part& part : parts) {
    const std::vector<dim::Dim> axes = form.formula_axes(part.columns);
    ir::Value* value = emit_formula(part.formula, axes, e);
    bool whole = true;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      whole &= axes[axis].is_constant(1) || part.formula.varies_along(static_cast<int>(axis));
    if (!whole) {
      std::vector<ir::Value*> sizes;
      for (const dim::Dim size : axes) sizes.push_back(e.size(size));
      value = e.emit("Expand", {value, e.concat(sizes, 0)});
    }
    if (part.formula.kind() != form.kind) value = e.cast(value, type_of(form.kind));
    made.push_back(value);
  }
  return emit_shaped(form, e.concat(made, static_cast<int64_t>(form.growing.size())), e);
}

ir::Value* emit_shaped(const View& form, ir::Value* table, TableEmitter& e) {
  std::vector<ir::Value*> target;
  std::vector<int64_t> permutation(form.dims.size());
  size_t next = 0;
  for (const size_t axis : form.axes) permutation[axis] = static_cast<int64_t>(next++);
  for (const size_t axis : form.axes) target.push_back(e.size(form.dims[axis]));
  for (size_t axis = 0; axis < form.dims.size(); ++axis) {
    if (std::find(form.axes.begin(), form.axes.end(), axis) != form.axes.end()) continue;
    permutation[axis] = static_cast<int64_t>(next++);
    target.push_back(e.size(form.dims[axis]));
  }
  table = e.emit("Reshape", {table, e.concat(target, 0)});
  if (!std::is_sorted(permutation.begin(), permutation.end()))
    table = e.emit("Transpose", {table}, {{"perm", permutation}});
  return form.type == type_of(form.kind) ? table : e.cast(table, form.type);
}

}  // namespace thaw::lifting
