// Concat: tensors one after the other along an axis.
#include "thaw/ops/onnx/concat.h"

#include <algorithm>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// Elements of a Concat of tensors of constant shape; an input that is not followed leaves its part unknown.
void concat_elements(Context& ctx, int axis) {
  std::vector<ConstantShape> shapes;
  int64_t total = 0, outer = 1;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    auto shape = constant_shape(ctx.input(i).shape);
    if (!shape) return;
    auto count = small_count(*shape);
    if (!count) return;
    total += *count;
    if (total > kMaxElements) return;
    shapes.push_back(std::move(*shape));
  }
  for (int k = 0; k < axis; ++k) outer *= shapes.front()[k];
  for (const ConstantShape& s : shapes)
    for (int k = 0; k < axis; ++k)
      if (s[k] != shapes.front()[k]) return;  // cannot run
  std::vector<std::optional<SmallTensor>> parts;
  for (int i = 0; i < ctx.num_inputs(); ++i) parts.push_back(small_input(ctx, i));
  Elements out;
  out.reserve(static_cast<size_t>(total));
  for (int64_t row = 0; row < outer; ++row) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      int64_t length = outer == 0 ? 0 : *small_count(shapes[i]) / outer;
      for (int64_t k = 0; k < length; ++k) out.push_back(parts[i] ? parts[i]->at(row * length + k) : Element());
    }
  }
  ctx.set_elements(0, std::move(out));
}

void concat(Context& ctx) {
  ir::DataType dtype = first_dtype(ctx);
  int inputs = ctx.num_inputs(), rank = -1;
  for (int i = 0; i < inputs; ++i) {
    int r = ctx.input(i).rank();
    if (r < 0) continue;
    if (rank >= 0 && r != rank) {
      ctx.invalid("a Concat of tensors of ranks " + std::to_string(rank) + " and " + std::to_string(r));
      return unknown_tensor(ctx, 0, dtype);
    }
    rank = r;
  }
  if (rank < 0) return unknown_tensor(ctx, 0, dtype);
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 1), rank);
  if (!axis) return ctx.set_tensor(0, dtype, unknown_shape(rank));
  Shape out(rank);
  Dim length = 0;
  std::vector<int> from(rank, -1);
  for (int i = 0; i < inputs; ++i) {
    const Fact& part = ctx.input(i);
    if (!part.has_rank()) {
      length = Dim();
      continue;
    }
    length = length + part.dim(*axis);
    for (int k = 0; k < rank; ++k) {
      if (k == *axis) continue;
      Dim before = out[k];
      out[k] = ctx.require_equal(before, part.dim(k), "sizes beside a Concat's axis", {from[k], k}, {i, k});
      if (before.is_unknown()) from[k] = i;
    }
  }
  out[*axis] = length;
  ctx.set_tensor(0, dtype, std::move(out));
  if (ctx.has_input(0)) concat_elements(ctx, *axis);
}

std::optional<AxesMap> axes_of_concat(NodeView& view) { return concat_axes(view, 0, 1); }
void batch_concat(BatchContext& n) { batch_parts(n, 0, 1); }

}  // namespace

std::optional<AxesMap> concat_axes(NodeView& view, int first, int step) {
  const int rank = view.input(first).rank();
  if (rank < 1) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", 1), rank));
  AxesMap map;
  for (int k = 0; k < rank; ++k) {
    AxisLink& link = map.links.emplace_back();
    link.kind = k == axis ? AxisKind::kMixed : AxisKind::kPreserved;
    for (int i = first; i < view.num_inputs(); i += step) link.inputs.push_back({i, k});
    link.outputs.push_back({0, k});
  }
  return map;
}

void batch_parts(BatchContext& n, int first, int step) {
  const int64_t axis = n.attr_int("axis", 1);
  bool merged = BatchContext::positive(axis, n.rank(first)) != 0;
  for (int i = first; i < n.num_inputs(); i += step) merged &= n.can_merge(i) && (!n.is_batched(i) || n.is_merged(i));
  for (int i = first; i < n.num_inputs(); i += step) n.set_operand(i, merged ? n.merged(i) : n.leading(i));
  if (!merged && axis >= 0) {
    n.set_attribute({"axis", BatchContext::shifted(axis)});
    n.note_change();
  }
  n.keep(merged ? Form::kMerged : Form::kLeading);
}

void add_concat_ops(Registry& r) {
  r.add({.name = "Concat",
         .shape = concat,
         .op_class = OpClass::kMovement,
         .range = range_kept,
         .attributes = {{.name = "axis", .role = Role::kAxes, .otherwise = 1}},
         .axes = axes_by(axes_of_concat),
         .batch = batch_with(batch_concat),
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
