// Operators that keep the elements in order and change the shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.
#include <string>

#include "thaw/ops/onnx/reshape_target.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// Row-major order stays: the elements are the input's.
void keep_elements(Context& ctx) {
  if (const Elements* elements = ctx.elements(0)) ctx.set_elements(0, *elements);
}

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

// The axes of Squeeze and Unsqueeze: an attribute up to opset 12, an input after.
struct Axes {
  bool given = false;
  std::optional<std::vector<int64_t>> values;  // when known
  std::optional<std::vector<Dim>> entries;     // one a given axis, when their number is known
};

Axes read_axes(Context& ctx) {
  Axes axes;
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
Shape squeeze_runtime_axis(const Shape& in, Dim axis) {
  int rank = static_cast<int>(in.size());
  Dim at = wrapped_axis(axis, rank);
  Shape out;
  for (int i = 0; i + 1 < rank; ++i) out.push_back(select(is_less(at, i + 1), in[i + 1], in[i]));
  return out;
}

void squeeze(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  int rank = data.rank();
  Axes axes = read_axes(ctx);
  if (!axes.given) {
    ctx.set_tensor(0, data.dtype, squeeze_ones(*data.shape));
    return keep_elements(ctx);
  }
  if (!axes.values) {
    if (!axes.entries || axes.entries->size() > static_cast<size_t>(rank)) return unknown_tensor(ctx, 0, data.dtype);
    int count = static_cast<int>(axes.entries->size());
    bool one = count == 1 && axes.entries->front().is_known();
    return ctx.set_tensor(0, data.dtype,
                          one ? squeeze_runtime_axis(*data.shape, axes.entries->front()) : unknown_shape(rank - count));
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
  Axes axes = read_axes(ctx);
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

void identity(Context& ctx) { same_as_input(ctx, 0, 0, true); }

}  // namespace

void add_reshape_ops(Registry& r) {
  r.add({.domain = "", .name = "Reshape", .shape = reshape, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Flatten", .shape = flatten, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Squeeze", .shape = squeeze, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Unsqueeze", .shape = unsqueeze, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Identity", .shape = identity, .op_class = OpClass::kMovement});
}

}  // namespace thaw::ops
