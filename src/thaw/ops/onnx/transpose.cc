// Operators that permute: Transpose, DepthToSpace, SpaceToDepth, ReverseSequence.
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

void transpose(Context& ctx) {
  const Fact& data = ctx.input(0);
  auto perm = ctx.attr_ints("perm");
  if (!data.has_rank()) {
    return ctx.set_tensor(0, data.dtype,
                          perm ? std::optional<Shape>(unknown_shape(static_cast<int>(perm->size()))) : std::nullopt);
  }
  int rank = data.rank();
  if (!perm) {
    perm.emplace(rank);
    for (int i = 0; i < rank; ++i) (*perm)[i] = rank - 1 - i;
  }
  if (static_cast<int>(perm->size()) != rank) {
    ctx.invalid("perm names " + std::to_string(perm->size()) + " axes of a tensor of rank " + std::to_string(rank));
    return unknown_tensor(ctx, 0, data.dtype);
  }
  // Unlike other lists of axes, this one does not count from the end.
  if (std::any_of(perm->begin(), perm->end(), [](int64_t axis) { return axis < 0; })) {
    ctx.invalid("perm names a negative axis");
    return unknown_tensor(ctx, 0, data.dtype);
  }
  auto axes = normalize_axes(ctx, *perm, rank);
  if (!axes) return unknown_tensor(ctx, 0, data.dtype);
  Shape out(rank);
  for (int i = 0; i < rank; ++i) out[i] = data.dim((*axes)[i]);
  ctx.set_tensor(0, data.dtype, std::move(out));

  auto small = small_input(ctx, 0);
  if (!small) return;
  auto strides = strides_of(small->shape);
  ConstantShape moved(rank);
  std::vector<int64_t> moved_strides(rank);
  for (int i = 0; i < rank; ++i) {
    moved[i] = small->shape[(*axes)[i]];
    moved_strides[i] = strides[(*axes)[i]];
  }
  auto elements = build_elements(
      moved, [&](const std::vector<int64_t>& index) { return small->at(offset_of(index, moved_strides)); });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

// The block size, a positive integer that the operator requires.
std::optional<int64_t> block_size(Context& ctx) {
  auto block = ctx.attr_int("blocksize");
  if (block && *block >= 1 && *block <= INT32_MAX) return block;
  ctx.invalid("blocksize must be a positive integer");
  return std::nullopt;
}

bool is_image_batch(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (data.rank() == 4) return true;
  if (data.has_rank()) ctx.invalid("the input has rank " + std::to_string(data.rank()) + ", not 4");
  return false;
}

void depth_to_space(Context& ctx) {
  const Fact& data = ctx.input(0);
  auto block = block_size(ctx);
  if (!block || !is_image_batch(ctx)) return ctx.set_tensor(0, data.dtype, unknown_shape(4));
  Dim depth = divide_evenly(ctx, data.dim(1), *block * *block, "channels of a DepthToSpace", {0, 1});
  ctx.set_tensor(0, data.dtype, Shape{data.dim(0), depth, data.dim(2) * *block, data.dim(3) * *block});
}

void space_to_depth(Context& ctx) {
  const Fact& data = ctx.input(0);
  auto block = block_size(ctx);
  if (!block || !is_image_batch(ctx)) return ctx.set_tensor(0, data.dtype, unknown_shape(4));
  Dim height = divide_evenly(ctx, data.dim(2), *block, "height of a SpaceToDepth", {0, 2});
  Dim width = divide_evenly(ctx, data.dim(3), *block, "width of a SpaceToDepth", {0, 3});
  ctx.set_tensor(0, data.dtype, Shape{data.dim(0), data.dim(1) * (*block * *block), height, width});
}

void reverse_sequence(Context& ctx) {
  same_as_input(ctx, 0, 0);
  const Fact& data = ctx.input(0);
  const Fact& lengths = ctx.input(1);
  if (!data.has_rank()) return;
  if (data.rank() < 2) return ctx.invalid("the input has rank " + std::to_string(data.rank()) + ", not 2 or more");
  int64_t batch = ctx.attr_int("batch_axis", 1);
  if (batch < 0 || batch > 1) return ctx.invalid("batch_axis must be 0 or 1");
  if (lengths.rank() == 1)
    ctx.require_equal(data.dim(static_cast<int>(batch)), lengths.dim(0), "batch of a ReverseSequence and its lengths",
                      {0, static_cast<int>(batch)}, {1, 0});
}

void needs_of_reverse_sequence(Context& ctx) {
  const Fact& data = ctx.input(0);
  const int time = ctx.attr_int("time_axis", 0) == 1 ? 1 : 0;
  need_between(ctx, 1, 0, data.rank() > time ? data.dim(time) : Dim(), "a length and the steps of a ReverseSequence");
}

std::optional<AxesMap> transpose_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  const auto perm = view.attr_ints("perm");
  if (rank < 0 || (perm && static_cast<int>(perm->size()) != rank)) return std::nullopt;
  AxesMap map;
  for (int to = 0; to < rank; ++to) {
    const auto from = perm ? static_cast<int>((*perm)[static_cast<size_t>(to)]) : rank - 1 - to;
    map.keep({{0, from < 0 ? from + rank : from}}, {{0, to}});
  }
  return map;
}

// Of each row of the batch, the first so many steps are turned round.
std::optional<AxesMap> reverse_axes(NodeView& view) {
  return match_axes(view.attr_int("batch_axis", 1) == 1 ? "t~ n x..., n -> t~ n x..." : "n t~ x..., n -> n t~ x...",
                    view);
}

void batch_transpose(BatchContext& n) {
  std::vector<int64_t> permutation(n.node().attribute_ints("perm").begin(), n.node().attribute_ints("perm").end());
  if (permutation.empty()) {
    permutation.resize(static_cast<size_t>(n.rank(0)));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  if (n.is_merged(0) && permutation.front() == 0) {
    return n.keep_on(Form::kMerged);
  }
  for (int64_t& axis : permutation) ++axis;
  permutation.insert(permutation.begin(), 0);
  n.set_operand(0, n.leading(0));
  n.set_attribute({"perm", permutation});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_reverse_sequence(BatchContext& n) {
  const bool batch_is_second = n.attr_int("batch_axis", 1) == 1;
  const int rank = n.rank(0);
  if (rank < 2) BatchContext::refuse("its operand has fewer than two axes");
  // A sample's own batch stands first for a while: [batch, b, time, …].
  std::vector<int64_t> swap(static_cast<size_t>(rank + 1));
  std::iota(swap.begin(), swap.end(), 0);
  if (batch_is_second) std::swap(swap[1], swap[2]);
  ir::Value* x = batch_is_second ? n.transpose(n.leading(0), swap) : n.leading(0);
  ir::Value* both = n.slice(n.shape(x), 0, 2);
  ir::Value* reversed = n.emit("ReverseSequence", {n.flattened(x), n.emit("Reshape", {n.leading(1), n.list({-1})})},
                               {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}});
  ir::Value* y = n.unflattened(reversed, both);
  n.become(0, batch_is_second ? n.transpose(y, swap) : y, Form::kLeading);
}

}  // namespace

void add_transpose_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Transpose",
         .shape = transpose,
         .op_class = OpClass::kMovement,
         .range = range_kept,
         .attributes = {{.name = "perm", .role = kAxes}},
         .axes = axes_by(transpose_axes),
         .batch = batch_with(batch_transpose),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "DepthToSpace",
         .shape = depth_to_space,
         .op_class = OpClass::kMovement,
         .range = range_kept,
         .axes = axes_by("n c~ h~ w~ -> n c~ h~ w~")});
  r.add({.name = "SpaceToDepth",
         .shape = space_to_depth,
         .op_class = OpClass::kMovement,
         .range = range_kept,
         .axes = axes_by("n c~ h~ w~ -> n c~ h~ w~")});
  r.add({.name = "ReverseSequence",
         .shape = reverse_sequence,
         .op_class = OpClass::kMovement,
         .needs = needs_of_reverse_sequence,
         .range = range_kept,
         .operands = {kData, kCount},
         .attributes = {{.name = "batch_axis", .role = kAxes}, {.name = "time_axis", .role = kAxes}},
         .axes = axes_by(reverse_axes),
         .batch = batch_with(batch_reverse_sequence)});
}

}  // namespace thaw::ops
