// Operators that take parts of a tensor along axes: Slice, Split.
#include <algorithm>
#include <cstdint>
#include <string>

#include "thaw/ops/onnx/slice_size.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::ops {

using dim::Dim;

namespace {

using Dims = std::vector<Dim>;

// starts, ends, axes and steps of a Slice; attributes in opset 1, inputs since 10.
struct SliceArguments {
  std::optional<Dims> starts, ends, axes, steps;
  bool has_axes = false;
  // How many axes are sliced, when something tells.
  std::optional<size_t> count() const {
    for (const auto* list : {&starts, &ends, &axes, &steps})
      if (*list) return (*list)->size();
    return std::nullopt;
  }
};

std::optional<Dims> attr_dims(Context& ctx, std::string_view name) {
  auto values = ctx.attr_ints(name);
  if (!values) return std::nullopt;
  return Dims(values->begin(), values->end());
}

SliceArguments slice_arguments(Context& ctx) {
  SliceArguments a;
  if (ctx.opset() < 10 && !ctx.has_input(1)) {
    a.starts = attr_dims(ctx, "starts");
    a.ends = attr_dims(ctx, "ends");
    a.axes = attr_dims(ctx, "axes");
    a.has_axes = a.axes.has_value();
  } else {
    a.starts = ctx.dims_from(1);
    a.ends = ctx.dims_from(2);
    if (a.ends && ctx.constant(2) && ctx.elements(2)) {
      // The one integer that no Dim holds is INT64_MIN: "to the beginning".
      for (Dim& end : *a.ends)
        if (end.is_unknown()) end = -INT64_MAX;
    }
    a.has_axes = ctx.has_input(3);
    if (a.has_axes) a.axes = ctx.dims_from(3);
    if (ctx.has_input(4)) a.steps = ctx.dims_from(4);
  }
  auto n = a.count();
  if (!n) return a;
  if (!ctx.has_input(4)) a.steps.emplace(*n, Dim(1));
  if (!a.has_axes) {
    a.axes.emplace();
    for (size_t i = 0; i < *n; ++i) a.axes->push_back(static_cast<int64_t>(i));
  }
  // An argument of unknown length has as many entries as the others.
  for (auto* list : {&a.starts, &a.ends, &a.axes, &a.steps})
    if (!*list) list->emplace(*n);
  return a;
}

// The elements that a Slice with these constant arguments takes.
void slice_elements(Context& ctx, const SliceArguments& a, std::span<const int> axes) {
  auto small = small_input(ctx, 0);
  if (!small) return;
  size_t rank = small->shape.size();
  std::vector<int64_t> first(rank, 0), step(rank, 1);
  ConstantShape out = small->shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t n = small->shape[axes[i]];
    auto start = (*a.starts)[i].constant(), end = (*a.ends)[i].constant(), by = (*a.steps)[i].constant();
    if (!start || !end || !by || *by == 0) return;
    auto size = slice_size(n, *start, *end, *by).constant();
    if (!size) return;
    int64_t from = *start < 0 ? *start + n : *start;
    from = *by > 0 ? std::clamp<int64_t>(from, 0, n) : std::clamp<int64_t>(from, 0, std::max<int64_t>(n - 1, 0));
    first[axes[i]] = from;
    step[axes[i]] = *by;
    out[axes[i]] = *size;
  }
  auto strides = strides_of(small->shape);
  auto elements = build_elements(out, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t k = 0; k < rank; ++k) offset += (first[k] + index[k] * step[k]) * strides[k];
    return small->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

constexpr int kMaxFedRank = 16;  // axes that only the run names are looked for among at most so many

// Axes that the run names: axis d is sliced by argument i where axes[i] is d.
Shape slice_runtime_axes(const Shape& in, const SliceArguments& a) {
  int64_t rank = static_cast<int64_t>(in.size());
  Shape out = in;
  for (int64_t d = 0; d < rank; ++d) {
    for (size_t i = 0; i < a.axes->size(); ++i) {
      Dim size = slice_size(in[d], (*a.starts)[i], (*a.ends)[i], (*a.steps)[i]);
      out[d] = out[d] + is_equal(wrapped_axis((*a.axes)[i], static_cast<int>(rank)), d) * (size - in[d]);
    }
  }
  return out;
}

void slice(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  int rank = data.rank();
  SliceArguments a = slice_arguments(ctx);
  auto count = a.count();
  if (!count) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  for (const auto* list : {&a.starts, &a.ends, &a.axes, &a.steps}) {
    if ((*list)->size() == *count) continue;
    ctx.invalid("a Slice's starts, ends, axes and steps differ in length");
    return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  }
  if (*count > static_cast<size_t>(rank)) {
    ctx.invalid("a Slice names " + std::to_string(*count) + " axes of a tensor of rank " + std::to_string(rank));
    return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  }
  std::vector<int64_t> values;
  for (Dim axis : *a.axes)
    if (auto v = axis.constant()) values.push_back(*v);
  if (values.size() < *count)
    return ctx.set_tensor(0, data.dtype,
                          rank <= kMaxFedRank ? slice_runtime_axes(*data.shape, a) : unknown_shape(rank));
  auto axes = normalize_axes(ctx, values, rank);
  if (!axes) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  Shape out = *data.shape;
  for (size_t i = 0; i < *count; ++i) {
    if ((*a.steps)[i].is_constant(0)) ctx.invalid("a Slice's step is 0");
    Dim& size = out[(*axes)[i]];
    size = slice_size(size, (*a.starts)[i], (*a.ends)[i], (*a.steps)[i]);
  }
  ctx.set_tensor(0, data.dtype, std::move(out));
  slice_elements(ctx, a, *axes);
}

// The sizes of a Split's outputs along its axis; empty when they are not known.
Dims split_sizes(Context& ctx, Dim size, int axis, int outputs) {
  std::optional<Dims> sizes;
  if (ctx.has_input(1)) {
    sizes = ctx.dims_from(1);
    if (!sizes) return {};
  } else if (auto attr = ctx.attr_ints("split"); attr && ctx.opset() < 13) {
    sizes.emplace(attr->begin(), attr->end());
  }
  if (sizes) {
    if (static_cast<int>(sizes->size()) != outputs) {
      ctx.invalid("a Split into " + std::to_string(sizes->size()) + " sizes has " + std::to_string(outputs) +
                  " outputs");
      return {};
    }
    if (outputs == 1 && sizes->front().is_unknown()) return {size};
    Dim total = dim::sum(*sizes);
    if (total.is_known()) {
      Dim whole = ctx.require_equal(size, total, "a split axis and the sum of its parts", {0, axis}, {1, -1});
      // A single part is the axis.
      if (outputs == 1) return {whole};
      return *sizes;
    }
    // One part that is not known is what the others leave.
    Dim rest = size;
    Dim* unknown = nullptr;
    for (Dim& d : *sizes) {
      if (d.is_known()) {
        rest = rest - d;
      } else if (unknown) {
        return *sizes;
      } else {
        unknown = &d;
      }
    }
    if (unknown) *unknown = rest;
    return *sizes;
  }
  if (ctx.opset() >= 18) {
    // Parts of ceil(size / parts); the last takes what is left.
    int64_t parts = ctx.attr_int("num_outputs", outputs);
    if (parts != outputs || parts < 1) {
      ctx.invalid("num_outputs is " + std::to_string(parts) + " on a Split of " + std::to_string(outputs) + " outputs");
      return {};
    }
    Dim even = parts == 1 ? size : dim::ceil_div(size, parts);
    if (auto exact = dim::exact_div(size, parts)) even = *exact;
    Dims list(outputs, even);
    list.back() = size - even * (parts - 1);
    return list;
  }
  return Dims(outputs, divide_evenly(ctx, size, outputs, "a Split into equal parts", {0, axis}));
}

void split_elements(Context& ctx, int axis, std::span<const Dim> sizes) {
  auto small = small_input(ctx, 0);
  if (!small) return;
  auto strides = strides_of(small->shape);
  int64_t begin = 0;
  for (size_t o = 0; o < sizes.size(); ++o) {
    auto size = sizes[o].constant();
    if (!size || *size < 0 || *size > small->shape[axis] - begin) return;
    ConstantShape part = small->shape;
    part[axis] = *size;
    auto elements = build_elements(part, [&](const std::vector<int64_t>& index) {
      return small->at(offset_of(index, strides) + begin * strides[axis]);
    });
    if (elements) ctx.set_elements(static_cast<int>(o), std::move(*elements));
    begin += *size;
  }
}

void split(Context& ctx) {
  const Fact& data = ctx.input(0);
  int outputs = ctx.num_outputs();
  if (outputs == 0) return;
  if (!data.has_rank()) return unknown_tensors(ctx, 0, data.dtype);
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 0), data.rank());
  if (!axis) return unknown_tensors(ctx, 0, data.dtype);
  Dims sizes = split_sizes(ctx, data.dim(*axis), *axis, outputs);
  sizes.resize(static_cast<size_t>(outputs));
  for (int o = 0; o < outputs; ++o) {
    Shape shape = *data.shape;
    shape[*axis] = sizes[o];
    ctx.set_tensor(o, data.dtype, std::move(shape));
  }
  split_elements(ctx, *axis, sizes);
}

}  // namespace

void add_slice_ops(Registry& r) {
  r.add({.domain = "", .name = "Slice", .shape = slice, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Split", .shape = split, .op_class = OpClass::kMovement});
}

}  // namespace thaw::ops
