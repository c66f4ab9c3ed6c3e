// Operators that read elements by index: Gather, GatherElements, GatherND.
#include <algorithm>
#include <string>

#include "thaw/ops/onnx/scatter.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// States that constant indices lie inside the axis.
void check_indices(Context& ctx, const SmallTensor& indices, Dim size) {
  int64_t highest = -1, lowest = 0;
  for (const Element& e : *indices.elements) {
    auto v = e.as_int();
    if (!v) continue;
    highest = std::max(highest, *v);
    lowest = std::min(lowest, *v);
  }
  if (highest >= 0 && highest < INT64_MAX)
    ctx.require_at_most(highest + 1, size, "an index and the axis it reads", {}, {0, -1});
  if (lowest < 0 && lowest > -INT64_MAX)
    ctx.require_at_most(-lowest, size, "an index and the axis it reads", {}, {0, -1});
}

void gather_values(Context& ctx, int axis, const SmallTensor& indices) {
  auto data = small_input(ctx, 0);
  if (!data) return;
  ConstantShape out(data->shape.begin(), data->shape.begin() + axis);
  out.insert(out.end(), indices.shape.begin(), indices.shape.end());
  out.insert(out.end(), data->shape.begin() + axis + 1, data->shape.end());
  auto data_strides = strides_of(data->shape), index_strides = strides_of(indices.shape);
  size_t index_rank = indices.shape.size();
  auto elements = build_elements(out, [&](const std::vector<int64_t>& at) {
    int64_t offset = 0, which = 0;
    for (int k = 0; k < axis; ++k) offset += at[k] * data_strides[k];
    for (size_t k = 0; k < index_rank; ++k) which += at[axis + k] * index_strides[k];
    for (size_t k = axis + 1; k < data->shape.size(); ++k) offset += at[k + index_rank - 1] * data_strides[k];
    auto row = index_position(indices.at(which), data->shape[axis]);
    return row ? data->at(offset + *row * data_strides[axis]) : Element();
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void gather(Context& ctx) {
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 0), data.rank());
  if (!axis) return unknown_tensor(ctx, 0, data.dtype);
  if (!indices.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  Shape out(data.shape->begin(), data.shape->begin() + *axis);
  out.insert(out.end(), indices.shape->begin(), indices.shape->end());
  out.insert(out.end(), data.shape->begin() + *axis + 1, data.shape->end());
  ctx.set_tensor(0, data.dtype, std::move(out));
  auto known = small_input(ctx, 1);
  if (!known) return;
  check_indices(ctx, *known, data.dim(*axis));
  gather_values(ctx, *axis, *known);
}

void gather_elements(Context& ctx) {
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  ctx.set_tensor(0, data.dtype, indices.shape);
  if (!data.has_rank() || !indices.has_rank()) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 0), data.rank());
  if (!axis) return;
  if (data.rank() != indices.rank()) {
    return ctx.invalid("data of rank " + std::to_string(data.rank()) + " and indices of rank " +
                       std::to_string(indices.rank()) + " must have one rank");
  }
  for (int k = 0; k < data.rank(); ++k)
    if (k != *axis)
      ctx.require_at_most(indices.dim(k), data.dim(k), "indices of a GatherElements and its data", {1, k}, {0, k});
  auto which = small_input(ctx, 1);
  auto small = which ? small_input(ctx, 0) : std::nullopt;
  if (!small) return;
  for (size_t k = 0; k < small->shape.size(); ++k)
    if (static_cast<int>(k) != *axis && which->shape[k] > small->shape[k]) return;  // cannot run
  auto strides = strides_of(small->shape), index_strides = strides_of(which->shape);
  auto elements = build_elements(which->shape, [&](const std::vector<int64_t>& at) {
    auto row = index_position(which->at(offset_of(at, index_strides)), small->shape[*axis]);
    if (!row) return Element();
    return small->at(offset_of(at, strides) + (*row - at[*axis]) * strides[*axis]);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void gather_nd_values(Context& ctx, int64_t batch_dims, int64_t depth) {
  auto indices = small_input(ctx, 1);
  auto data = indices ? small_input(ctx, 0) : std::nullopt;
  if (!data) return;
  size_t prefix = indices->shape.size() - 1;
  for (int64_t k = 0; k < batch_dims; ++k)
    if (data->shape[k] != indices->shape[k]) return;  // cannot run
  ConstantShape out(indices->shape.begin(), indices->shape.end() - 1);
  out.insert(out.end(), data->shape.begin() + batch_dims + depth, data->shape.end());
  auto data_strides = strides_of(data->shape), index_strides = strides_of(indices->shape);
  auto elements = build_elements(out, [&](const std::vector<int64_t>& at) {
    int64_t offset = 0, which = 0;
    for (size_t k = 0; k < prefix; ++k) which += at[k] * index_strides[k];
    for (int64_t k = 0; k < batch_dims; ++k) offset += at[k] * data_strides[k];
    for (int64_t k = 0; k < depth; ++k) {
      auto row = index_position(indices->at(which + k), data->shape[batch_dims + k]);
      if (!row) return Element();
      offset += *row * data_strides[batch_dims + k];
    }
    for (size_t k = batch_dims + depth; k < data->shape.size(); ++k)
      offset += at[prefix + k - batch_dims - depth] * data_strides[k];
    return data->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void gather_nd(Context& ctx) {
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  int64_t batch_dims = ctx.opset() >= 12 ? ctx.attr_int("batch_dims", 0) : 0;
  if (!data.has_rank() || !indices.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  if (indices.rank() < 1 || data.rank() < 1 || batch_dims < 0 || batch_dims >= std::min(indices.rank(), data.rank())) {
    ctx.invalid("data of rank " + std::to_string(data.rank()) + " and indices of rank " +
                std::to_string(indices.rank()) + " with " + std::to_string(batch_dims) + " batch dims");
    return unknown_tensor(ctx, 0, data.dtype);
  }
  auto depth = indices.dim(indices.rank() - 1).constant();
  if (!depth) return unknown_tensor(ctx, 0, data.dtype);
  if (*depth < 1 || *depth > data.rank() - batch_dims) {
    ctx.invalid("indices of " + std::to_string(*depth) + " coordinates into data of rank " +
                std::to_string(data.rank()));
    return unknown_tensor(ctx, 0, data.dtype);
  }
  Shape out(indices.shape->begin(), indices.shape->end() - 1);
  for (int k = 0; k < static_cast<int>(batch_dims); ++k)
    out[k] = ctx.require_equal(indices.dim(k), data.dim(k), "batch of a GatherND's data and indices", {1, k}, {0, k});
  out.insert(out.end(), data.shape->begin() + batch_dims + *depth, data.shape->end());
  ctx.set_tensor(0, data.dtype, std::move(out));
  gather_nd_values(ctx, batch_dims, *depth);
}

}  // namespace

void add_gather_ops(Registry& r) {
  r.add({.domain = "", .name = "Gather", .shape = gather, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "GatherElements", .shape = gather_elements, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "GatherND", .shape = gather_nd, .op_class = OpClass::kMovement});
  add_scatter_ops(r);
}

}  // namespace thaw::ops
