// Operators that repeat: Expand, Tile.
#include <algorithm>
#include <numeric>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// Tile: repeats of every axis; in opset 1 a count and one axis.
void tile(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) {
    auto repeats = ctx.opset() >= 6 ? ctx.dims_from(1) : std::nullopt;
    auto rank = repeats ? std::optional<Shape>(unknown_shape(static_cast<int>(repeats->size()))) : std::nullopt;
    return ctx.set_tensor(0, data.dtype, rank);
  }
  int rank = data.rank();
  std::vector<Dim> repeats(rank, Dim(1));
  if (ctx.opset() < 6) {
    auto tiles = ctx.dims_from(1), axis = ctx.dims_from(2);
    auto where = axis && axis->size() == 1 ? axis->front().constant() : std::nullopt;
    if (!where) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
    auto at = normalize_axis(ctx, *where, rank);
    if (!at) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
    repeats[*at] = tiles && tiles->size() == 1 ? tiles->front() : Dim();
  } else {
    auto given = ctx.dims_from(1);
    if (given && static_cast<int>(given->size()) != rank) {
      ctx.invalid(std::to_string(given->size()) + " repeats for a tensor of rank " + std::to_string(rank));
      return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
    }
    repeats = given ? *given : std::vector<Dim>(rank);
  }
  Shape out(rank);
  for (int k = 0; k < rank; ++k) {
    ctx.require_at_most(0, repeats[k], "a Tile's repeats");
    out[k] = data.dim(k) * repeats[k];
  }
  auto constant = constant_shape(out);
  ctx.set_tensor(0, data.dtype, std::move(out));
  auto small = constant ? small_input(ctx, 0) : std::nullopt;
  if (!small) return;
  auto strides = strides_of(small->shape);
  auto elements = build_elements(*constant, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (int k = 0; k < rank; ++k) offset += index[k] % small->shape[k] * strides[k];
    return small->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void expand(Context& ctx) {
  const Fact& data = ctx.input(0);
  auto target = ctx.dims_from(1);
  if (!data.has_rank() || !target) return unknown_tensor(ctx, 0, data.dtype);
  size_t rank = std::max(data.shape->size(), target->size());
  Shape out(rank);
  for (size_t k = 0; k < rank; ++k) {
    int in_axis = static_cast<int>(k) - static_cast<int>(rank - data.shape->size());
    int to_axis = static_cast<int>(k) - static_cast<int>(rank - target->size());
    Dim from = in_axis >= 0 ? data.dim(in_axis) : Dim(1);
    Dim to = to_axis >= 0 ? (*target)[to_axis] : Dim(1);
    out[k] = ctx.require_broadcast(from, to, "an Expand's sizes", {in_axis >= 0 ? 0 : -1, in_axis}, {1, to_axis});
  }
  auto constant = constant_shape(out);
  ctx.set_tensor(0, data.dtype, std::move(out));
  auto small = constant ? small_input(ctx, 0) : std::nullopt;
  if (!small) return;
  auto strides = strides_of(small->shape);
  size_t shift = rank - small->shape.size();
  auto elements = build_elements(*constant, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t k = 0; k < strides.size(); ++k)
      if (small->shape[k] != 1) offset += index[shift + k] * strides[k];
    return small->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

// Axes line up at the right; those before them are new.
std::optional<AxesMap> expand_axes(NodeView& view) {
  const int from = view.input(0).rank(), to = view.output(0).rank();
  if (from < 0 || to < from) return std::nullopt;
  AxesMap map;
  for (int axis = 0; axis < to; ++axis) {
    if (axis < to - from) {
      map.add_new({{0, axis}});
    } else {
      map.keep({{0, axis - (to - from)}}, {{0, axis}});
    }
  }
  return map;
}

// An axis that is not repeated stays.
std::optional<AxesMap> tile_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0 || view.opset() < 6) return std::nullopt;
  const auto repeats = view.dims_from(1);
  std::vector<int> repeated;
  for (int axis = 0; axis < rank; ++axis) {
    const bool once =
        repeats && static_cast<int>(repeats->size()) == rank && (*repeats)[static_cast<size_t>(axis)].is_constant(1);
    if (!once) repeated.push_back(axis);
  }
  AxesMap map;
  map.keep_in_place(rank, repeated);
  for (const int axis : repeated) map.mix({{0, axis}}, {{0, axis}});
  return map;
}

void batch_expand(BatchContext& n) {
  n.require_same_for_all(1, "shape");
  const int rank = n.rank(0);
  const auto length = n.rank(1) == 1 ? n.input(1).dim(0).constant() : std::nullopt;
  if (!length) BatchContext::refuse("the length of its shape is not known");
  if (n.is_merged(0) && *length <= rank && BatchContext::starts_with_one(n.output(0))) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* x = n.leading(0);
  ir::Value* target = n.original(1);
  if (*length > rank) {
    std::vector<int64_t> axes(static_cast<size_t>(*length - rank));
    std::iota(axes.begin(), axes.end(), 1);
    x = n.unsqueeze(x, axes);
  }
  if (*length >= rank) target = n.concat({n.list({1}), target}, 0);
  n.set_operand(0, x);
  n.set_operand(1, target);
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_tile(BatchContext& n) {
  n.require_same_for_all(1, "number of repetitions");
  if (n.is_merged(0) && BatchContext::starts_with_one(n.output(0))) {
    return n.keep_on(Form::kMerged);
  }
  ir::Value* repeats = n.concat({n.list({1}), n.original(1)}, 0);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, repeats);
  n.note_change();
  n.keep(Form::kLeading);
}

}  // namespace

void add_expand_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Expand",
         .shape = expand,
         .op_class = OpClass::kMovement,
         .needs = needs_sizes,
         .range = range_kept,
         .operands = {kData, kShape},
         .axes = axes_by(expand_axes),
         .batch = batch_with(batch_expand),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Tile",
         .shape = tile,
         .op_class = OpClass::kMovement,
         .needs = needs_sizes,
         .range = range_kept,
         .operands = {kData, kRepeats, kAxes},
         .axes = axes_by(tile_axes),
         .batch = batch_with(batch_tile),
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
