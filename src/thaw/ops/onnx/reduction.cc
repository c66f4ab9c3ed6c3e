// Reductions over axes (an attribute before opset 13 or 18, an input since), ArgMax and ArgMin, CumSum and CumProd.
#include "thaw/ops/onnx/reduction.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/value_range.h"

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

bool axes_are_input(const NodeView& view) {
  const Operator* op = registry().find(view.node());
  if (!op || op->operands[1] != Role::kAxes) return false;
  return std::ranges::none_of(op->attributes, [&](const AttributeRole& attribute) {
    return attribute.name == "axes" && view.opset() >= attribute.first && view.opset() <= attribute.last;
  });
}

bool does_nothing_without_axes(const NodeView& view) { return view.attr_int("noop_with_empty_axes", 0) != 0; }

// Shape of a reduction with its axes as an attribute or as input 1; also says whether all axes are known to go.
struct Reduced {
  std::optional<Shape> shape;
  bool everything = false;
};

Reduced reduce(Context& ctx) {
  const Fact& x = ctx.input(0);
  bool keep = ctx.attr_int("keepdims", 1) != 0;
  bool by_input = axes_are_input(ctx);
  bool noop = by_input && does_nothing_without_axes(ctx);
  if (!x.has_rank()) return {};
  const Shape& shape = *x.shape;
  int rank = x.rank();
  std::vector<int64_t> axes;
  if (!by_input) {
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

template <ElementFunction F>
void reduction(Context& ctx) {
  Reduced result = reduce(ctx);
  DataType dtype = ctx.input(0).dtype;
  bool everything = result.everything;
  ctx.set_tensor(0, dtype, std::move(result.shape));
  if (!everything || F == nullptr) return;
  const Elements* list = ctx.elements(0);
  ElementFunction f = typed<F>(dtype);
  if (!list || !f || std::ranges::any_of(*list, is_beyond_float64)) return;
  if (Element value = f(*list); !value.is_unknown() && !is_beyond_float64(value)) ctx.set_elements(0, {value});
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

AxesMap reduced_map(int rank, const std::vector<int64_t>& axes, bool keep, Combine combine) {
  AxesMap map;
  for (int k = 0, to = 0; k < rank; ++k) {
    if (std::ranges::none_of(axes, [&](int64_t axis) { return BatchContext::positive(axis, rank) == k; })) {
      map.keep({{0, k}}, {{0, to++}});
    } else {
      map.contract({{0, k}}, combine);
      if (keep) ++to;
    }
  }
  return map;
}

std::optional<AxesMap> arg_extreme_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  return reduced_map(rank, {view.attr_int("axis", 0)}, view.attr_int("keepdims", 1) != 0, Combine::kOther);
}

// Any axis may be the one known only at run time.
std::optional<AxesMap> cumulative_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const auto given = view.ints(1);
  const bool is_known = given && given->size() == 1;
  return AxesMap::in_place(rank, [&](int k) { return !is_known || BatchContext::positive(given->front(), rank) == k; });
}

// Over axes known only at run time, counted with the batch before them then.
void batch_by_computed_axes(BatchContext& n) {
  const auto count = n.rank(1) == 1 ? n.input(1).dim(0).constant() : std::nullopt;
  if (!count || *count == 0 || n.is_batched(1)) BatchContext::refuse("its axes are not constant");
  ir::Value* moved = n.shifted_axes(1);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, moved);
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_over(BatchContext& n, std::vector<int64_t> axes, bool by_operand) {
  const int rank = n.rank(0);
  const bool all = axes.empty();
  const bool first =
      all || std::ranges::any_of(axes, [&](int64_t axis) { return BatchContext::positive(axis, rank) == 0; });
  if (n.is_merged(0) && !first) return n.keep_on(Form::kMerged);
  ir::Value* x = n.leading(0);
  if (all) {
    // A scalar gets an axis to reduce over.
    if (rank == 0) x = n.unsqueeze(x, {1});
    axes.resize(static_cast<size_t>(std::max(rank, 1)));
    std::iota(axes.begin(), axes.end(), 1);
    if (rank == 0) n.set_attribute({"keepdims", int64_t{0}});
  } else {
    axes = BatchContext::shifted(axes);
  }
  n.set_operand(0, x);
  if (by_operand) {
    n.set_operand(1, n.list(axes));
  } else {
    n.set_attribute({"axes", axes});
  }
  n.note_change();
  n.keep(Form::kLeading);
}

}  // namespace

std::optional<AxesMap> reduction_axes(NodeView& view, Combine combine) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const bool keep = view.attr_int("keepdims", 1) != 0;
  std::vector<int64_t> axes;
  if (!axes_are_input(view)) {
    axes = view.attr_ints("axes").value_or(axes);
  } else if (view.has_input(1)) {
    auto fed = view.ints(1);
    if (!fed) return std::nullopt;
    axes = std::move(*fed);
  }
  if (axes.empty() && !does_nothing_without_axes(view))
    for (int k = 0; k < rank; ++k) axes.push_back(k);
  return reduced_map(rank, axes, keep, combine);
}

void batch_reduce(BatchContext& n) {
  const bool by_operand = axes_are_input(n);
  std::vector<int64_t> axes;
  if (!by_operand) {
    n.require_alone();
    axes = n.attr_ints("axes").value_or(axes);
  } else if (n.original(1)) {
    auto constant = n.constant_ints(1);
    if (!constant) return batch_by_computed_axes(n);
    axes = std::move(*constant);
  }
  if (axes.empty() && does_nothing_without_axes(n)) return n.keep_on(n.form_of(0));
  batch_over(n, std::move(axes), by_operand);
}

void batch_reduce_over(BatchContext& n, std::vector<int64_t> axes) { batch_over(n, std::move(axes), false); }

void add_reduction_ops(Registry& r) {
  using enum Role;
  using enum Evaluation;
  // Up to an opset the axes are an attribute.
  const auto add_op = [&r](Operator op, int64_t last_of_attribute = 17) {
    op.op_class = OpClass::kReduction;
    op.needs = needs_an_axis;
    op.operands = {kData, kAxes};
    op.attributes = {{"axes", kAxes, AttributeRole::kRequired, 1, last_of_attribute}};
    op.batch = batch_with(batch_reduce);
    r.add(std::move(op));
  };
  add_op({.name = "ReduceSum",
          .shape = reduction<total>,
          .axes = axes_by(reduction_axes<Combine::kSum>),
          .evaluation = kByRule,
          .widens = true,
          .magnitude = magnitude_of_many},
         12);
  add_op({.name = "ReduceProd",
          .shape = reduction<product>,
          .axes = axes_by(reduction_axes<Combine::kOther>),
          .evaluation = kByRule,
          .widens = true,
          .magnitude = magnitude_of_many_factors});
  add_op({.name = "ReduceMin",
          .shape = reduction<lowest>,
          .range = range_reduced,
          .axes = axes_by(reduction_axes<Combine::kMinimum>),
          .evaluation = kByRule,
          .saturates = true});
  add_op({.name = "ReduceMax",
          .shape = reduction<highest>,
          .range = range_reduced,
          .axes = axes_by(reduction_axes<Combine::kMaximum>),
          .evaluation = kByRule,
          .saturates = true,
          .magnitude = magnitude_of_maximum});
  add_op({.name = "ReduceMean",
          .shape = reduction<nothing>,
          .axes = axes_by(reduction_axes<Combine::kMean>),
          .widens = true});
  add_op({.name = "ReduceLogSumExp",
          .shape = reduction<nothing>,
          .axes = axes_by(reduction_axes<Combine::kOther>),
          .widens = true,
          .saturates = true,
          .magnitude = magnitude_of_maximum});
  // A 0 adds nothing to these.
  const auto add_sum = [&add_op](Operator op) {
    op.shape = reduction<nothing>;
    op.axes = axes_by(reduction_axes<Combine::kSum>);
    op.widens = true;
    add_op(std::move(op));
  };
  add_sum({.name = "ReduceL1", .magnitude = magnitude_of_many_sizes});
  add_sum({.name = "ReduceL2", .magnitude = magnitude_of_length});
  add_sum({.name = "ReduceLogSum", .magnitude = magnitude_of_logarithm, .counts_small = 0});
  add_sum({.name = "ReduceSumSquare", .magnitude = magnitude_of_many_squares});
  r.add({"ArgMax", "ArgMin"}, {.shape = arg_extreme,
                               .op_class = OpClass::kReduction,
                               .attributes = {{"axis", kAxes, 0}},
                               .axes = axes_by(arg_extreme_axes),
                               .batch = batch_with(batch_shifting_axes),
                               .saturates = true});
  const auto add_cumulative = [&r](Operator op) {
    op.needs = needs_an_axis;
    op.operands = {kData, kAxes};
    op.axes = axes_by(cumulative_axes);
    op.batch = batch_with(batch_shifting_axes);
    op.evaluation = kByRule;
    op.widens = true;
    r.add(std::move(op));
  };
  add_cumulative({.name = "CumSum", .shape = cumulative<total>, .magnitude = magnitude_of_many});
  add_cumulative({.name = "CumProd", .shape = cumulative<product>, .magnitude = magnitude_of_many_factors});
}

}  // namespace thaw::ops
