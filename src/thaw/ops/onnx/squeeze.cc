// Operators that take axes of size 1 away or put them in: Squeeze, Unsqueeze.
#include <algorithm>
#include <string>

#include "thaw/ops/onnx/given_axes.h"
#include "thaw/ops/onnx/reshape.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// The axes of Squeeze and Unsqueeze: an attribute up to opset 12, an input after.
struct SqueezedAxes {
  bool given = false;
  std::optional<std::vector<int64_t>> values;  // when known
  std::optional<std::vector<Dim>> entries;     // one a given axis, when their number is known
};

SqueezedAxes read_axes(Context& ctx) {
  SqueezedAxes axes;
  if (ctx.has_input(1)) {
    axes.given = true;
    axes.entries = ctx.dims_from(1);
    axes.values = ctx.ints(1);
  } else if (auto attr = ctx.attr_ints("axes")) {
    axes.given = true;
    axes.values = std::move(attr);
  }
  return axes;
}

// Squeeze of every axis of size 1.
std::optional<Shape> squeeze_ones(const Shape& in) {
  Shape out;
  for (Dim d : in) {
    if (d.is_constant(1)) continue;
    bool other = d.is_constant() || at_least(d, 2);
    if (!other) return std::nullopt;  // may be 1: the rank depends on it
    out.push_back(d);
  }
  return out;
}

// Squeeze of one axis that the run names: every size before it stays, every later one moves up.
Shape squeeze_runtime_axis(Context& ctx, const Shape& in, Dim axis) {
  int rank = static_cast<int>(in.size());
  Dim at = wrapped_axis(axis, rank), gone = 0;
  for (int i = 0; i < rank; ++i) gone = gone + is_equal(at, i) * in[i];
  ctx.require_equal(gone, 1, "a squeezed axis and 1");
  Shape out;
  for (int i = 0; i + 1 < rank; ++i) out.push_back(select(is_less(at, i + 1), in[i + 1], in[i]));
  return out;
}

void squeeze(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  int rank = data.rank();
  SqueezedAxes axes = read_axes(ctx);
  // ONNX Runtime takes a list without axes for none that was given.
  if (!axes.given || (axes.values && axes.values->empty())) {
    ctx.set_tensor(0, data.dtype, squeeze_ones(*data.shape));
    return keep_elements(ctx);
  }
  if (!axes.values) {
    if (!axes.entries || axes.entries->size() > static_cast<size_t>(rank)) return unknown_tensor(ctx, 0, data.dtype);
    int count = static_cast<int>(axes.entries->size());
    bool one = count == 1 && axes.entries->front().is_known();
    return ctx.set_tensor(
        0, data.dtype,
        one ? squeeze_runtime_axis(ctx, *data.shape, axes.entries->front()) : unknown_shape(rank - count));
  }
  auto list = normalize_axes(ctx, *axes.values, rank);
  if (!list) return unknown_tensor(ctx, 0, data.dtype);
  std::vector<bool> gone(rank);
  for (int axis : *list) {
    gone[axis] = true;
    ctx.require_equal(data.dim(axis), 1, "a squeezed axis and 1", {0, axis});
  }
  Shape out;
  for (int i = 0; i < rank; ++i)
    if (!gone[i]) out.push_back(data.dim(i));
  ctx.set_tensor(0, data.dtype, std::move(out));
  keep_elements(ctx);
}

// Unsqueeze of one axis that the run names, counted in the output.
Shape unsqueeze_runtime_axis(const Shape& in, Dim axis) {
  int rank = static_cast<int>(in.size()) + 1;
  Dim at = wrapped_axis(axis, rank);
  Shape out;
  for (int i = 0; i < rank; ++i) {
    // Before the new axis in[i], at it 1, after it in[i - 1].
    Dim here = is_equal(at, i), before = is_less(at, i);
    Dim size = here;
    if (i < rank - 1) size = size + (1 - here - before) * in[i];
    if (i > 0) size = size + before * in[i - 1];
    out.push_back(size);
  }
  return out;
}

void unsqueeze(Context& ctx) {
  const Fact& data = ctx.input(0);
  SqueezedAxes axes = read_axes(ctx);
  if (!data.has_rank() || (!axes.values && !axes.entries)) return unknown_tensor(ctx, 0, data.dtype);
  if (!axes.values) {
    int count = static_cast<int>(axes.entries->size());
    bool one = count == 1 && axes.entries->front().is_known();
    return ctx.set_tensor(
        0, data.dtype,
        one ? unsqueeze_runtime_axis(*data.shape, axes.entries->front()) : unknown_shape(data.rank() + count));
  }
  int rank = data.rank() + static_cast<int>(axes.values->size());
  auto list = normalize_axes(ctx, *axes.values, rank);
  if (!list) return unknown_tensor(ctx, 0, data.dtype);
  Shape out(rank);
  for (int axis : *list) out[axis] = 1;
  std::vector<bool> added(rank);
  for (int axis : *list) added[axis] = true;
  for (int i = 0, k = 0; i < rank; ++i)
    if (!added[i]) out[i] = data.dim(k++);
  ctx.set_tensor(0, data.dtype, std::move(out));
  keep_elements(ctx);
}

std::optional<AxesMap> squeeze_axes(NodeView& view) {
  const Fact& data = view.input(0);
  if (!data.has_rank()) return std::nullopt;
  std::vector<int64_t> gone;
  if (const auto given = given_axes(view, 1); given && !given->empty()) {
    for (const int64_t axis : *given) gone.push_back(axis < 0 ? axis + data.rank() : axis);
  } else if (view.has_input(1) && !given) {
    return std::nullopt;
  } else {
    for (int axis = 0; axis < data.rank(); ++axis) {
      if (!data.dim(axis).is_constant()) return std::nullopt;
      if (data.dim(axis).is_constant(1)) gone.push_back(axis);
    }
  }
  AxesMap map;
  for (int axis = 0, to = 0; axis < data.rank(); ++axis) {
    if (std::ranges::find(gone, axis) != gone.end()) {
      map.contract({{0, axis}});
    } else {
      map.keep({{0, axis}}, {{0, to++}});
    }
  }
  return map;
}

std::optional<AxesMap> unsqueeze_axes(NodeView& view) {
  const Fact& data = view.input(0);
  const auto given = given_axes(view, 1);
  if (!data.has_rank() || !given) return std::nullopt;
  const int rank = data.rank() + static_cast<int>(given->size());
  AxesMap map;
  for (int to = 0, from = 0; to < rank; ++to) {
    const bool is_new = std::ranges::any_of(*given, [&](int64_t axis) { return axis == to || axis + rank == to; });
    if (is_new) {
      map.add_new({{0, to}});
    } else if (from < data.rank()) {
      map.keep({{0, from++}}, {{0, to}});
    }
  }
  return map;
}

void batch_squeeze(BatchContext& n) {
  if (keep_on_computed_axes(n, 1)) return;
  const int rank = n.rank(0);
  std::vector<int64_t> axes;
  if (const auto given = axes_given(n, 1); given && !given->empty()) {
    for (const int64_t axis : *given) axes.push_back(BatchContext::positive(axis, rank));
  } else {
    for (int axis = 0; axis < rank; ++axis) {
      const dim::Dim size = n.input(0).dim(axis);
      if (!size.is_constant()) BatchContext::refuse("which axes it removes depends on their sizes");
      if (size.is_constant(1)) axes.push_back(axis);
    }
  }
  const bool first = std::find(axes.begin(), axes.end(), 0) != axes.end();
  if (n.is_merged(0)) {
    // Without its first axis of 1, a sample's batch is a leading one.
    axes.erase(std::remove(axes.begin(), axes.end(), 0), axes.end());
    return n.become(0, n.squeeze(n.merged(0), axes), first ? Form::kLeading : Form::kMerged);
  }
  for (int64_t& axis : axes) ++axis;
  n.become(0, n.squeeze(n.leading(0), axes), Form::kLeading);
}

void batch_unsqueeze(BatchContext& n) {
  if (keep_on_computed_axes(n, 1)) return;
  const auto given = axes_given(n, 1);
  if (!given) BatchContext::refuse("its axes are not given");
  const int rank = n.rank(0) + static_cast<int>(given->size());
  std::vector<int64_t> axes;
  for (const int64_t axis : *given) axes.push_back(BatchContext::positive(axis, rank));
  const auto first = std::find(axes.begin(), axes.end(), 0);
  const bool new_first = first != axes.end();
  if (n.is_merged(0) && !new_first) return n.become(0, n.unsqueeze(n.merged(0), axes), Form::kMerged);
  if (!n.is_merged(0) && new_first) {
    // The new first axis of 1 is where the leading batch already is.
    axes.erase(first);
    return n.become(0, n.unsqueeze(n.leading(0), axes), Form::kMerged);
  }
  for (int64_t& axis : axes) ++axis;
  n.become(0, n.unsqueeze(n.leading(0), axes), Form::kLeading);
}

}  // namespace

void add_squeeze_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Squeeze",
         .shape = squeeze,
         .op_class = OpClass::kMovement,
         .needs = needs_constant<1>,
         .range = range_kept,
         .operands = {kData, kAxes},
         .attributes = {{.name = "axes", .role = kAxes}},
         .axes = axes_by(squeeze_axes),
         .batch = batch_with(batch_squeeze),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Unsqueeze",
         .shape = unsqueeze,
         .op_class = OpClass::kMovement,
         .needs = needs_constant<1>,
         .range = range_kept,
         .operands = {kData, kAxes},
         .attributes = {{.name = "axes", .role = kAxes}},
         .axes = axes_by(unsqueeze_axes),
         .batch = batch_with(batch_unsqueeze),
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
