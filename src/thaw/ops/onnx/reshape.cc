// Operators that keep the elements in order and give them another shape: Reshape, Flatten, Identity.
#include "thaw/ops/onnx/reshape.h"

#include <algorithm>
#include <string>

#include "thaw/ops/onnx/reshape_target.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

void keep_elements(Context& ctx) {
  if (const Elements* elements = ctx.elements(0)) ctx.set_elements(0, *elements);
}

namespace {

void reshape(Context& ctx) {
  const Fact& data = ctx.input(0);
  std::optional<std::vector<Dim>> target;
  if (ctx.opset() >= 5 || ctx.has_input(1)) {
    target = ctx.dims_from(1);
  } else if (auto attr = ctx.attr_ints("shape")) {
    target.emplace(attr->begin(), attr->end());
  }
  if (!target) return unknown_tensor(ctx, 0, data.dtype);
  auto shape = resolve_reshape(ctx, data, *target, ctx.attr_int("allowzero", 0) != 0);
  ctx.set_tensor(0, data.dtype, std::move(shape));
  keep_elements(ctx);
}

void flatten(Context& ctx) {
  const Fact& data = ctx.input(0);
  int64_t axis = ctx.attr_int("axis", 1);
  if (!data.has_rank()) return ctx.set_tensor(0, data.dtype, unknown_shape(2));
  int rank = data.rank();
  if (axis < -rank || axis > rank) {
    ctx.invalid("axis " + std::to_string(axis) + " is outside [" + std::to_string(-rank) + ", " + std::to_string(rank) +
                "]");
    return ctx.set_tensor(0, data.dtype, unknown_shape(2));
  }
  if (axis < 0) axis += rank;
  auto dims = std::span<const Dim>(*data.shape);
  ctx.set_tensor(0, data.dtype, Shape{dim::product(dims.first(axis)), dim::product(dims.subspan(axis))});
  keep_elements(ctx);
}

void identity(Context& ctx) { same_as_input(ctx, 0, 0, true); }

// How many elements stand before each axis.
std::vector<Dim> counts_before(const Shape& shape) {
  std::vector<Dim> counts;
  Dim count = 1;
  for (const Dim d : shape) {
    counts.push_back(count);
    count = count * d;
  }
  return counts;
}

// An axis stays what it is where as many elements stand before it, or after it, as did; the others are taken apart and
// put together.
std::optional<AxesMap> reshape_axes(NodeView& view) {
  const Fact &in = view.input(0), &out = view.output(0);
  if (!in.has_rank() || !out.has_rank()) return std::nullopt;
  const auto rank_in = static_cast<size_t>(in.rank()), rank_out = static_cast<size_t>(out.rank());
  const auto from_in = counts_before(*in.shape), from_out = counts_before(*out.shape);
  const auto to_in = counts_before(Shape(in.shape->rbegin(), in.shape->rend())),
             to_out = counts_before(Shape(out.shape->rbegin(), out.shape->rend()));
  AxesMap map;
  std::vector<bool> used_in(rank_in), used_out(rank_out);
  for (size_t i = 0; i < rank_in; ++i) {
    for (size_t j = 0; j < rank_out && !used_in[i]; ++j) {
      if (used_out[j] || !dim::same((*in.shape)[i], (*out.shape)[j])) continue;
      if (!dim::same(from_in[i], from_out[j]) && !dim::same(to_in[rank_in - 1 - i], to_out[rank_out - 1 - j])) continue;
      used_in[i] = used_out[j] = true;
      map.keep({{0, static_cast<int>(i)}}, {{0, static_cast<int>(j)}});
    }
  }
  AxisLink rest{AxisKind::kMixed, Combine::kOther, {}, {}};
  for (size_t i = 0; i < rank_in; ++i)
    if (!used_in[i]) rest.inputs.push_back({0, static_cast<int>(i)});
  for (size_t j = 0; j < rank_out; ++j)
    if (!used_out[j]) rest.outputs.push_back({0, static_cast<int>(j)});
  if (!rest.inputs.empty() || !rest.outputs.empty()) map.links.push_back(std::move(rest));
  return map;
}

void batch_reshape(BatchContext& n) {
  if (n.opset() < 5) BatchContext::refuse("its shape is an attribute");
  n.require_same_for_all(1, "shape");
  const bool keeps_zeros = n.attr_int("allowzero", 0) != 0;
  const auto constant = n.constant_ints(1);
  n.note_change();
  // The sample's first axis is 1 before and after: it holds the batch, copied by a 0.
  if (n.is_merged(0) && BatchContext::starts_with_one(n.output(0)) && !keeps_zeros) {
    n.set_operand(0, n.merged(0));
    if (constant) {
      std::vector<int64_t> target = *constant;
      target[0] = 0;
      n.set_operand(1, n.list(target));
    } else {
      n.set_operand(1, n.output(0).rank() == 1 ? n.list({0}) : n.concat({n.list({0}), n.slice(n.original(1), 1)}, 0));
    }
    return n.keep(Form::kMerged);
  }
  // A 0 in the target copies the axis at its position, which moves with it.
  ir::Value* first = keeps_zeros ? n.batch_size() : n.list({0});
  ir::Value* target = nullptr;
  if (constant && !keeps_zeros) {
    std::vector<int64_t> longer{0};
    longer.insert(longer.end(), constant->begin(), constant->end());
    target = n.list(longer);
  } else {
    target = n.concat({first, n.original(1)}, 0);
  }
  n.set_operand(0, n.leading(0));
  n.set_operand(1, target);
  n.keep(Form::kLeading);
}

void batch_flatten(BatchContext& n) {
  const int rank = n.rank(0);
  const int64_t axis = BatchContext::positive(n.attr_int("axis", 1), rank);
  if (n.is_merged(0) && axis == 1) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* target = nullptr;
  if (axis == 0) {
    target = n.list({0, 1, -1});
  } else if (axis == rank) {
    target = n.list({0, -1, 1});
  } else {
    ir::Value* rows = n.reduce("ReduceProd", n.slice(n.shape(n.leading(0)), 1, axis + 1), {0}, true);
    target = n.concat({n.list({0}), rows, n.list({-1})}, 0);
  }
  n.become(0, n.emit("Reshape", {n.leading(0), target}), Form::kLeading);
}

// A target of which only the sizes that are frozen change: 0 where the size is the data's at that axis, -1 for one where
// the target has none, else the size itself.
std::optional<std::vector<Dim>> reshape_sizes(ThawedView& view, int /*operand*/) {
  const Fact &in = view.input(0), &out = view.output(0);
  const auto target = view.dims_from(1);
  if (!in.shape || !out.shape || !target || target->size() != out.shape->size()) return std::nullopt;
  if (view.attr_int("allowzero", 0) != 0 || !dim::same(dim::product(*in.shape), dim::product(*out.shape)))
    return std::nullopt;
  bool infers = std::ranges::any_of(*target, [](Dim t) { return t.is_constant(-1); });
  std::vector<Dim> sizes(target->size());
  for (size_t j = 0; j < sizes.size(); ++j) {
    const Dim t = (*target)[j], d = (*out.shape)[j];
    if (t.is_constant(0) || t.is_constant(-1) || dim::same(t, d)) continue;
    if (j < in.shape->size() && dim::same(d, (*in.shape)[j])) {
      sizes[j] = 0;
    } else if (!infers) {
      infers = true;
      sizes[j] = -1;
    } else {
      sizes[j] = d;
    }
  }
  return sizes;
}

}  // namespace

void add_reshape_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Reshape",
         .shape = reshape,
         .op_class = OpClass::kMovement,
         .needs = needs_sizes,
         .range = range_kept,
         .operands = {kData, kShape},
         .attributes = {{.name = "shape", .role = kShape}},
         .axes = axes_by(reshape_axes),
         .batch = batch_with(batch_reshape),
         .frozen = frozen_reshape,
         .sizes = reshape_sizes,
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Flatten",
         .shape = flatten,
         .op_class = OpClass::kMovement,
         .range = range_kept,
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 1}},
         .axes = axes_by(reshape_axes),
         .batch = batch_with(batch_flatten),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Identity",
         .shape = identity,
         .op_class = OpClass::kMovement,
         .range = range_kept,
         .axes = axes_by("... -> ..."),
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
