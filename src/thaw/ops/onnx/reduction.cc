// Reductions over axes (an attribute before opset 13 or 18, an input since), ArgMax and ArgMin, CumSum and CumProd.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keep) {
  Shape out;
  for (int k = 0; k < static_cast<int>(shape.size()); ++k) {
    bool reduced = std::find(axes.begin(), axes.end(), k) != axes.end();
    if (!reduced)
      out.push_back(shape[k]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

// Axes that are fed as an input: each dim of the output as an expression in their values. They are taken to be
// distinct.
std::optional<Shape> reduced_by_fed_axes(const Shape& shape, const std::vector<Dim>& axes, bool keep) {
  int rank = static_cast<int>(shape.size()), count = static_cast<int>(axes.size());
  if (count > rank) return std::nullopt;
  auto is_reduced = [&](int axis) {
    Dim sum = 0;
    for (Dim a : axes) sum = sum + is_equal(wrapped_axis(a, rank), axis);
    return sum;
  };
  Shape out;
  if (keep) {
    for (int k = 0; k < rank; ++k) out.push_back(select(is_reduced(k), 1, shape[k]));
    return out;
  }
  if (count == rank) return out;
  out = unknown_shape(rank - count);
  if (count == 1) {
    // The axes behind the one that goes move up by one.
    Dim axis = wrapped_axis(axes[0], rank);
    for (int k = 0; k + 1 < rank; ++k) out[k] = select(is_less(k, axis), shape[k], shape[k + 1]);
  } else if (count == rank - 1) {
    // One axis stays.
    Dim left = 0;
    for (int k = 0; k < rank; ++k) left = left + (Dim(1) - is_reduced(k)) * shape[k];
    out[0] = left;
  }
  return out;
}

std::vector<int> all_axes(int rank) {
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Shape of a reduction with its axes as an attribute or as input 1; also says whether all axes are known to go.
struct Reduced {
  std::optional<Shape> shape;
  bool everything = false;
};

Reduced reduce(Context& ctx, bool axes_are_input) {
  const Fact& x = ctx.input(0);
  bool keep = ctx.attr_int("keepdims", 1) != 0;
  bool noop = axes_are_input && ctx.attr_int("noop_with_empty_axes", 0) != 0;
  if (!x.has_rank()) return {};
  const Shape& shape = *x.shape;
  int rank = x.rank();
  std::vector<int64_t> axes;
  if (!axes_are_input) {
    axes = ctx.attr_ints("axes").value_or(std::vector<int64_t>());
  } else if (ctx.has_input(1)) {
    auto fed = ctx.dims_from(1);
    if (!fed) {
      // Not even their number is known; with keepdims the rank stays.
      if (!keep) return {};
      Shape out = unknown_shape(rank);
      for (int k = 0; k < rank; ++k)
        if (shape[k].is_constant(1)) out[k] = 1;
      return {std::move(out), false};
    }
    for (Dim a : *fed) {
      if (auto v = a.constant())
        axes.push_back(*v);
      else
        return {reduced_by_fed_axes(shape, *fed, keep), false};
    }
  }
  if (axes.empty()) {
    if (noop) return {shape, rank == 0};
    return {reduced_shape(shape, all_axes(rank), keep), true};
  }
  auto which = normalize_axes(ctx, axes, rank);
  if (!which) return {};
  return {reduced_shape(shape, *which, keep), static_cast<int>(which->size()) == rank};
}

template <ElementFunction F, int kAxesInputSince>
void reduction(Context& ctx) {
  Reduced result = reduce(ctx, ctx.opset() >= kAxesInputSince);
  DataType dtype = ctx.input(0).dtype;
  bool everything = result.everything;
  ctx.set_tensor(0, dtype, std::move(result.shape));
  if (!everything || F == nullptr) return;
  const Elements* list = ctx.elements(0);
  ElementFunction f = typed<F>(dtype);
  if (!list || !f) return;
  if (Element value = f(*list); !value.is_unknown()) ctx.set_elements(0, {value});
}

Element total(Operands a) { return std::accumulate(a.begin(), a.end(), Element::integer(0)); }
Element product(Operands a) {
  return std::accumulate(a.begin(), a.end(), Element::integer(1),
                         [](const Element& x, const Element& y) { return x * y; });
}
Element lowest(Operands a) {
  if (a.empty()) return {};
  return std::accumulate(a.begin() + 1, a.end(), a[0],
                         [](const Element& x, const Element& y) { return minimum(x, y); });
}
Element highest(Operands a) {
  if (a.empty()) return {};
  return std::accumulate(a.begin() + 1, a.end(), a[0],
                         [](const Element& x, const Element& y) { return maximum(x, y); });
}
Element nothing(Operands) { return {}; }

void arg_extreme(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank()) return ctx.set_tensor(0, DataType::kInt64, std::nullopt);
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 0), x.rank());
  if (!axis) return ctx.set_tensor(0, DataType::kInt64, std::nullopt);
  ctx.require_at_most(1, x.dim(*axis), "elements to choose the extreme from", {}, {0, *axis});
  ctx.set_tensor(0, DataType::kInt64, reduced_shape(*x.shape, {*axis}, ctx.attr_int("keepdims", 1) != 0));
}

template <ElementFunction F>
void cumulative(Context& ctx) {
  const Fact& x = ctx.input(0);
  DataType dtype = x.dtype;
  shape_of_input(ctx, 0, 0, dtype);
  ElementFunction f = typed<F>(dtype);
  if (x.rank() != 1 || !f) return;
  const Elements* list = ctx.elements(0);
  if (!list) return;
  Elements values = *list, out(list->size());
  bool exclusive = ctx.attr_int("exclusive", 0) != 0, reverse = ctx.attr_int("reverse", 0) != 0;
  if (reverse) std::reverse(values.begin(), values.end());
  Element running = f({});  // the neutral element
  for (size_t i = 0; i < values.size(); ++i) {
    std::array<Element, 2> both = {running, values[i]};
    Element next = f(both);
    out[i] = exclusive ? running : next;
    running = next;
  }
  if (reverse) std::reverse(out.begin(), out.end());
  ctx.set_elements(0, std::move(out));
}

}  // namespace

void add_reduction_ops(Registry& r) {
  const auto add_op = r.group("", OpClass::kReduction);
  // ReduceSum took its axes as an input from opset 13, the others from 18.
  add_op("ReduceSum", reduction<total, 13>);
  add_op("ReduceProd", reduction<product, 18>);
  add_op("ReduceMin", reduction<lowest, 18>);
  add_op("ReduceMax", reduction<highest, 18>);
  for (const char* name : {"ReduceMean", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    add_op(name, reduction<nothing, 18>);
  add_op("ArgMax", arg_extreme);
  add_op("ArgMin", arg_extreme);
  r.add({"", "CumSum", cumulative<total>, OpClass::kOther});
  r.add({"", "CumProd", cumulative<product>, OpClass::kOther});
}

}  // namespace thaw::ops
