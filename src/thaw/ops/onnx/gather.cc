// Operators that read elements by index: Gather, GatherElements, GatherND.
#include "thaw/ops/onnx/gather.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
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
  const auto known = small_input(ctx, 1);
  if (known) {
    check_indices(ctx, *known, data.dim(*axis));
    gather_values(ctx, *axis, *known);
  } else if (data.dim(*axis).is_constant(1) && indices.rank() == 0) {
    const Elements any(1);  // whatever it is, there is one entry
    gather_values(ctx, *axis, SmallTensor{{}, &any});
  }
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

constexpr int64_t kBatchDimsOpset = 12;  // GatherND knows batch axes

int64_t batch_dims_of(const NodeView& view) {
  return view.opset() >= kBatchDimsOpset ? view.attr_int("batch_dims", 0) : 0;
}

void gather_nd(Context& ctx) {
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  const int64_t batch_dims = batch_dims_of(ctx);
  if (!data.has_rank() || !indices.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  if (indices.rank() < 1 || data.rank() < 1 || batch_dims < 0 || batch_dims >= std::min(indices.rank(), data.rank())) {
    ctx.invalid("data of rank " + std::to_string(data.rank()) + " and indices of rank " +
                std::to_string(indices.rank()) + " with " + std::to_string(batch_dims) + " batch dims");
    return unknown_tensor(ctx, 0, data.dtype);
  }
  Shape out(indices.shape->begin(), indices.shape->end() - 1);
  for (int k = 0; k < static_cast<int>(batch_dims); ++k)
    out[k] = ctx.require_equal(indices.dim(k), data.dim(k), "batch of a GatherND's data and indices", {1, k}, {0, k});
  auto depth = indices.dim(indices.rank() - 1).constant();
  if (!depth) {
    const int last = indices.rank() - 1;
    ctx.require_at_most(indices.dim(last), data.rank() - batch_dims, "coordinates of a GatherND's indices", {1, last});
    return unknown_tensor(ctx, 0, data.dtype);
  }
  if (*depth < 1 || *depth > data.rank() - batch_dims) {
    ctx.invalid("indices of " + std::to_string(*depth) + " coordinates into data of rank " +
                std::to_string(data.rank()));
    return unknown_tensor(ctx, 0, data.dtype);
  }
  out.insert(out.end(), data.shape->begin() + batch_dims + *depth, data.shape->end());
  ctx.set_tensor(0, data.dtype, std::move(out));
  gather_nd_values(ctx, batch_dims, *depth);
}

constexpr std::string_view kIndexInAxis = "an index and the axis it reads";

// The size of an axis of the data that the attribute `axis` names.
Dim indexed_size(Context& ctx) {
  const Fact& data = ctx.input(0);
  const int64_t axis = ctx.attr_int("axis", 0);
  const int64_t at = axis < 0 ? axis + data.rank() : axis;
  return at >= 0 && at < data.rank() ? data.dim(static_cast<int>(at)) : Dim();
}

// What is constant, the shape rule has stated.
void needs_of_gather(Context& ctx) {
  if (!ctx.ints(1)) need_index(ctx, 1, indexed_size(ctx), kIndexInAxis);
}

void needs_of_gather_elements(Context& ctx) { need_index(ctx, 1, indexed_size(ctx), kIndexInAxis); }

void needs_of_gather_nd(Context& ctx) { need_coordinates(ctx, 1, batch_dims_of(ctx)); }

// The rows that are read along an axis are named by the indices, whose axes take its place.
std::optional<AxesMap> axes_of_gather(NodeView& view) { return gather_axes(view, view.attr_int("axis", 0)); }

std::optional<AxesMap> gather_elements_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 1 || view.input(1).rank() != rank) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", 0), rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1), 2);
  map.contract({{0, axis}}, Combine::kOther, 1);
  map.keep({{1, axis}}, {{0, axis}});
  return map;
}

std::optional<AxesMap> gather_nd_axes(NodeView& view) {
  const Fact &data = view.input(0), &indices = view.input(1);
  if (!data.has_rank() || indices.rank() < 1) return std::nullopt;
  const auto depth = indices.dim(indices.rank() - 1).constant();
  const int64_t given = batch_dims_of(view);
  if (!depth || given < 0 || given >= std::min(data.rank(), indices.rank()) || *depth > data.rank() - given)
    return std::nullopt;
  const auto batch_dims = static_cast<int>(given);
  AxesMap map;
  const int prefix = indices.rank() - 1, read = batch_dims + static_cast<int>(*depth);
  for (int k = 0; k < batch_dims; ++k) map.keep({{0, k}, {1, k}}, {{0, k}});
  for (int k = batch_dims; k < prefix; ++k) map.keep({{1, k}}, {{0, k}});
  for (int k = batch_dims; k < read; ++k) map.contract({{0, k}}, Combine::kOther, 1);
  map.contract({{1, prefix}});
  for (int k = read; k < data.rank(); ++k) map.keep({{0, k}}, {{0, prefix + k - read}});
  return map;
}

std::vector<int64_t> identity_permutation(int64_t rank) {
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

// The permutation that takes axis `from` to `to`, the others staying in order.
std::vector<int64_t> moving(int64_t rank, int64_t from, int64_t to) {
  std::vector<int64_t> permutation = identity_permutation(rank);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return permutation;
}

// Rows [batch, length, …] of each sample by its indices, operand 1: those of all samples stand one after the other.
ir::Value* rows_of_samples(BatchContext& n, ir::Value* data, int index_rank) {
  ir::Value* length = n.slice(n.shape(data), 1, 2);
  ir::Value* indices = n.cast(n.leading(1), ir::DataType::kInt64);
  indices = n.emit("Where", {n.emit("Less", {indices, n.integer(0)}), n.emit("Add", {indices, length}), indices});
  indices = n.emit("Add", {indices, n.emit("Mul", {n.sample_numbers(index_rank), length})});
  return n.emit("Gather", {n.flattened(data), indices}, {{"axis", int64_t{0}}});
}

void batch_gather_elements(BatchContext& n) {
  const int64_t axis = n.attr_int("axis", 0);
  for (int i = 0; i < 2; ++i) n.set_operand(i, n.leading(i));
  if (axis >= 0) n.set_attribute({"axis", axis + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_gather_nd(BatchContext& n) {
  const int64_t batch_dims = n.attr_int("batch_dims", 0);
  if (batch_dims == 0 && !n.is_batched(0)) {
    n.set_operand(1, n.leading(1));
    return n.keep(Form::kLeading);
  }
  if (n.opset() < kBatchDimsOpset) {
    const int index_rank = n.rank(1);
    n.set_operand(0, n.leading(0));
    n.set_operand(1, with_sample_numbers(n, n.leading(1), index_rank));
    n.note_change();
    return n.keep(Form::kLeading);
  }
  for (int i = 0; i < 2; ++i) n.set_operand(i, n.leading(i));
  n.set_attribute({"batch_dims", batch_dims + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

}  // namespace

std::optional<AxesMap> gather_axes(NodeView& view, int64_t axis) {
  const int rank = view.input(0).rank(), index_rank = view.input(1).rank();
  if (rank < 1 || index_rank < 0) return std::nullopt;
  const auto at = static_cast<int>(BatchContext::positive(axis, rank));
  AxesMap map;
  for (int k = 0; k < at; ++k) map.keep({{0, k}}, {{0, k}});
  map.contract({{0, at}}, Combine::kOther, 1);
  for (int k = 0; k < index_rank; ++k) map.keep({{1, k}}, {{0, at + k}});
  for (int k = at + 1; k < rank; ++k) map.keep({{0, k}}, {{0, k + index_rank - 1}});
  return map;
}

// [batch, …, k] -> [batch, …, k + 1]: the sample's number becomes the first of each index.
ir::Value* with_sample_numbers(BatchContext& n, ir::Value* indices, int index_rank) {
  ir::Value* column = n.concat({n.slice(n.shape(indices), 0, index_rank), n.list({1})}, 0);
  return n.concat({n.emit("Expand", {n.sample_numbers(index_rank), column}), indices}, -1);
}

void batch_gather(BatchContext& n) {
  const ir::Node& node = n.node();
  const int data_rank = n.rank(0), index_rank = n.rank(1);
  const int64_t axis = BatchContext::positive(n.attr_int("axis", 0), data_rank);
  if (!n.is_batched(1)) {
    if (n.is_merged(0) && axis != 0) {
      n.set_operand(0, n.merged(0));
      return n.keep(Form::kMerged);
    }
    n.set_operand(0, n.leading(0));
    n.set_attribute({"axis", axis + 1});
    n.note_change();
    return n.keep(Form::kLeading);
  }
  if (!n.is_batched(0)) {
    if (axis == 0) {
      const Form form = n.form_of(1);
      n.set_operand(1, form == Form::kMerged ? n.merged(1) : n.leading(1));
      return n.keep(form);
    }
    // The batch comes out where the indices stand.
    n.set_operand(1, n.leading(1));
    n.keep(Form::kLeading);
    const int64_t rank = data_rank + index_rank;  // one more than a sample's result
    n.become(0, n.after().transpose(node.output(0), moving(rank, axis, 0)), Form::kLeading);
    return;
  }
  // Each sample its own rows: GatherND with the batch as a batch axis, the axis to read moved behind it.
  ir::Value* data = n.leading(0);
  if (axis != 0) data = n.transpose(data, moving(data_rank + 1, axis + 1, 1));
  ir::Value* rows = nullptr;
  if (n.opset() < kBatchDimsOpset) {
    rows = rows_of_samples(n, data, index_rank);
  } else {
    // GatherND takes negative indices by the standard, as Gather does.
    ir::Value* indices = n.unsqueeze(n.leading(1), {index_rank + 1});
    if (n.input(1).dtype != ir::DataType::kInt64) indices = n.cast(indices, ir::DataType::kInt64);
    rows = n.emit("GatherND", {data, indices}, {{"batch_dims", int64_t{1}}});
  }
  if (axis != 0) {
    // [batch, indices..., before..., after...] -> [batch, before..., indices..., after...]
    std::vector<int64_t> permutation{0};
    for (int64_t i = 0; i < axis; ++i) permutation.push_back(1 + index_rank + i);
    for (int64_t i = 0; i < index_rank; ++i) permutation.push_back(1 + i);
    for (int64_t i = 1 + index_rank + axis; i < data_rank + index_rank; ++i) permutation.push_back(i);
    rows = n.transpose(rows, permutation);
  }
  n.become(0, rows, Form::kLeading);
}

void add_gather_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Gather",
         .shape = gather,
         .op_class = OpClass::kMovement,
         .needs = needs_of_gather,
         .range = range_moved,
         .operands = {kData, kIndex},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 0}},
         .axes = axes_by(axes_of_gather),
         .batch = batch_with(batch_gather),
         .frozen = frozen_gather,
         .evaluation = Evaluation::kByRule});
  r.add({.name = "GatherElements",
         .shape = gather_elements,
         .op_class = OpClass::kMovement,
         .needs = needs_of_gather_elements,
         .range = range_moved,
         .operands = {kData, kIndex},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 0}},
         .axes = axes_by(gather_elements_axes),
         .batch = batch_with(batch_gather_elements),
         .frozen = frozen_gather_elements,
         .evaluation = Evaluation::kByRule});
  r.add({.name = "GatherND",
         .shape = gather_nd,
         .op_class = OpClass::kMovement,
         .needs = needs_of_gather_nd,
         .range = range_moved,
         .operands = {kData, kIndex},
         .axes = axes_by(gather_nd_axes),
         .batch = batch_with(batch_gather_nd),
         .frozen = frozen_gather_nd,
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
