// Operators of com.microsoft that move elements or pick some: Pad, ExpandDims, UnfoldTensor, Trilu, Unique, and regions
// of images.
#include <algorithm>
#include <string>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/pad.h"
#include "thaw/ops/onnx/pool.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void unique_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  Dim count = ctx.data_dependent(0, 0);
  ctx.set_tensor(0, x.dtype, Shape{count});
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt64, Shape{x.rank() == 1 ? x.dim(0) : Dim()});
  if (ctx.wants_output(2)) ctx.set_tensor(2, DataType::kInt64, Shape{count});
}

// pads: begins of all axes, then ends; of shape [2 * rank] or [1, 2 * rank].
void pad_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  if (!x.has_rank()) return;
  const Elements* pads = ctx.elements(1);
  size_t rank = x.shape->size();
  if (!pads) return;
  if (pads->size() != 2 * rank)
    return ctx.invalid("pads has " + std::to_string(pads->size()) + " values for rank " + std::to_string(rank));
  Shape out = *x.shape;
  for (size_t k = 0; k < rank; ++k) out[k] = out[k] + (*pads)[k].as_dim() + (*pads)[rank + k].as_dim();
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void crop_and_resize_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &rois = ctx.input(1), &batch = ctx.input(2);
  Dim count = rois.rank() == 2 ? rois.dim(0) : Dim();
  if (batch.rank() == 1)
    count = ctx.require_equal(count, batch.dim(0), "regions and their batch indices", {1, 0}, {2, 0});
  require_axis(ctx, 1, 2, 1, 4, "numbers of a region");
  auto size = ctx.dims_from(3);
  Shape out = {count, x.rank() == 4 ? x.dim(1) : Dim(), Dim(), Dim()};
  if (size && size->size() == 2) {
    out[2] = (*size)[0];
    out[3] = (*size)[1];
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void microsoft_grid_sample_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &grid = ctx.input(1);
  Shape out = unknown_shape(4);
  if (x.rank() == 4) {
    out[0] = x.dim(0);
    out[1] = x.dim(1);
  }
  if (grid.rank() == 4) {
    out[0] = ctx.require_equal(out[0], grid.dim(0), "batch of GridSample's input and grid", {0, 0}, {1, 0});
    out[2] = grid.dim(1);
    out[3] = grid.dim(2);
    require_axis(ctx, 1, 4, 3, 2, "coordinates of GridSample's grid");
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void expand_dims_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank() + 1)) : std::nullopt);
  auto fed = ctx.dims_from(1);
  if (!x.has_rank() || !fed || fed->size() != 1) return;
  int rank = x.rank() + 1;
  Dim axis = fed->front();
  if (auto plain = axis.constant()) {
    auto at = normalize_axis(ctx, *plain, rank);
    if (!at) return;
    axis = *at;
  }
  Dim at = wrapped_axis(axis, rank);
  Shape out(static_cast<size_t>(rank));
  for (int k = 0; k < rank; ++k) {
    out[k] = is_equal(at, k);
    if (k + 1 < rank) out[k] = out[k] + is_less(k, at) * x.dim(k);
    if (k > 0) out[k] = out[k] + is_less(at, k) * x.dim(k - 1);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// Slices of `size` elements, `step` apart, along `dim`; the slice is a new last axis.
void unfold_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, std::nullopt);
  if (!x.has_rank() || x.rank() == 0) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("dim", -1), x.rank());
  int64_t size = ctx.attr_int("size", 0), step = ctx.attr_int("step", 1);
  if (!axis) return;
  if (size < 1 || step < 1) return ctx.invalid("size and step must be positive");
  ctx.require_at_most(size, x.dim(*axis), "a slice within the axis", {}, {0, *axis});
  Shape out = *x.shape;
  out[*axis] = dim::floor_div(out[*axis] - size, step) + 1;
  out.push_back(size);
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// Pads are a list, or a matrix of one row.
void batch_pad_list(BatchContext& n) {
  for (int i = 1; i < n.num_inputs(); ++i) n.require_same_for_all(i, "amount of padding");
  if (n.is_merged(0) && BatchContext::starts_with_one(n.output(0))) return n.keep_on(Form::kMerged);
  const int64_t rank = n.rank(0);
  ir::Value *zero = n.list({0}), *pads = n.original(1);
  if (n.rank(1) > 1) pads = n.reshape(pads, n.list({-1}));
  n.set_operand(0, n.leading(0));
  n.set_operand(1, n.concat({zero, n.slice(pads, 0, rank), zero, n.slice(pads, rank)}, 0));
  n.note_change();
  n.keep(Form::kLeading);
}

std::optional<AxesMap> expand_dims_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  const auto given = view.ints(1);
  if (rank < 0 || !given || given->size() != 1) return std::nullopt;
  const auto at = static_cast<int>(BatchContext::positive(given->front(), rank + 1));
  AxesMap map;
  for (int k = 0; k < rank; ++k) map.keep({{0, k}}, {{0, k < at ? k : k + 1}});
  map.add_new({{0, at}});
  return map;
}

void batch_expand_dims(BatchContext& n) {
  n.require_alone();
  ir::Value* axis = n.shifted_axes(1);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, axis);
  n.note_change();
  n.keep(Form::kLeading);
}

std::optional<AxesMap> unfold_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 1) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("dim", -1), rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1));
  map.mix({{0, axis}}, {{0, axis}, {0, rank}});
  return map;
}

// Height and width of the crops.
std::optional<std::vector<Dim>> crop_size(ThawedView& view, int) {
  const Fact& out = view.output(0);
  if (out.rank() != 4) return std::nullopt;
  return std::vector{out.dim(2), out.dim(3)};
}

}  // namespace

void add_microsoft_movement_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "Pad",
         .shape = pad_rule,
         .op_class = OpClass::kMovement,
         .operands = {kData, kPads, kSetting},
         .axes = axes_by(pad_axes),
         .batch = batch_with(batch_pad_list),
         .standard = standard_pad});
  r.add({.domain = kMicrosoft,
         .name = "ExpandDims",
         .shape = expand_dims_rule,
         .op_class = OpClass::kMovement,
         .operands = {kData, kAxes},
         .axes = axes_by(expand_dims_axes),
         .batch = batch_with(batch_expand_dims),
         .standard = standard_expand_dims});
  r.add({.domain = kMicrosoft,
         .name = "UnfoldTensor",
         .shape = unfold_rule,
         .op_class = OpClass::kMovement,
         .attributes = {{.name = "dim", .role = kAxes, .otherwise = -1}},
         .axes = axes_by(unfold_axes),
         .batch = batch_with(batch_shifting_axes)});
  // Which elements stay depends on their row and column.
  r.add({.domain = kMicrosoft,
         .name = "Trilu",
         .shape = keep_shape,
         .operands = {kData, kSetting},
         .axes = axes_by("... i~ j~ -> ... i~ j~"),
         .standard = standard_trilu});
  r.add({.domain = kMicrosoft, .name = "Unique", .shape = unique_rule, .axes = no_axes(kSizedByData)});
  r.add({.domain = kMicrosoft,
         .name = "CropAndResize",
         .shape = crop_and_resize_rule,
         .operands = {kData, kRegion, kIndex, kShape},
         .axes = axes_by(region_axes),
         .batch = batch_with(batch_regions),
         .sizes = crop_size});
  r.add({.domain = kMicrosoft,
         .name = "GridSample",
         .shape = microsoft_grid_sample_rule,
         .axes = axes_by("n c y~ x~, n h w _ -> n c h w"),
         .standard = standard_grid_sample});
}

}  // namespace thaw::ops
