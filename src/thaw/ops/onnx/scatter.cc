// Operators that write elements by index: Scatter, ScatterElements, ScatterND, TensorScatter.
#include <string>

#include "thaw/ops/onnx/gather.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

namespace {

enum class Reduction : uint8_t { kNone, kAdd, kMul, kOther };

Reduction reduction_of(Context& ctx) {
  if (ctx.opset() < 16) return Reduction::kNone;
  std::string_view name = ctx.attr_string("reduction", "none");
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  return name == "mul" ? Reduction::kMul : Reduction::kOther;
}

void write(Element& to, const Element& update, Reduction reduction) {
  switch (reduction) {
    case Reduction::kNone:
      to = update;
      break;
    case Reduction::kAdd:
      to = to + update;
      break;
    case Reduction::kMul:
      to = to * update;
      break;
    case Reduction::kOther:
      to = Element();
      break;
  }
}

// Elements of data (input 0) with updates (input 2) written; nothing where an index (input 1) is not known.
void scatter_elements_values(Context& ctx, int axis, Reduction reduction) {
  auto indices = small_input(ctx, 1);
  auto data = indices ? small_input(ctx, 0) : std::nullopt;
  auto updates = data ? small_input(ctx, 2) : std::nullopt;
  if (!updates || indices->shape != updates->shape || indices->shape.size() != data->shape.size()) return;
  for (size_t k = 0; k < data->shape.size(); ++k)
    if (static_cast<int>(k) != axis && indices->shape[k] > data->shape[k]) return;  // cannot run
  Elements out = *data->elements;
  auto strides = strides_of(data->shape), index_strides = strides_of(indices->shape);
  bool known = true;
  for_each_index(indices->shape, [&](const std::vector<int64_t>& at) {
    int64_t from = offset_of(at, index_strides);
    auto row = index_position(indices->at(from), data->shape[axis]);
    if (!row) {
      known = false;
      return;
    }
    int64_t to = offset_of(at, strides) + (*row - at[axis]) * strides[axis];
    write(out[static_cast<size_t>(to)], updates->at(from), reduction);
  });
  if (known) ctx.set_elements(0, std::move(out));
}

void scatter_elements(Context& ctx) {
  same_as_input(ctx, 0, 0);
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  require_same_shape(ctx, indices.shape, ctx.input(2).shape, "indices and updates of a ScatterElements");
  if (!data.has_rank()) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 0), data.rank());
  if (!axis) return;
  if (indices.has_rank() && indices.rank() != data.rank()) {
    return ctx.invalid("data of rank " + std::to_string(data.rank()) + " and indices of rank " +
                       std::to_string(indices.rank()) + " must have one rank");
  }
  for (int k = 0; k < indices.rank(); ++k)
    if (k != *axis)
      ctx.require_at_most(indices.dim(k), data.dim(k), "indices of a ScatterElements and its data", {1, k}, {0, k});
  scatter_elements_values(ctx, *axis, reduction_of(ctx));
}

void scatter_nd_values(Context& ctx, size_t depth, Reduction reduction) {
  auto indices = small_input(ctx, 1);
  auto data = indices ? small_input(ctx, 0) : std::nullopt;
  auto updates = data ? small_input(ctx, 2) : std::nullopt;
  if (!updates) return;
  ConstantShape prefix(indices->shape.begin(), indices->shape.end() - 1);
  ConstantShape expected = prefix;
  expected.insert(expected.end(), data->shape.begin() + static_cast<std::ptrdiff_t>(depth), data->shape.end());
  if (updates->shape != expected) return;  // cannot run
  auto strides = strides_of(data->shape);
  int64_t slice = 1;
  for (size_t k = depth; k < data->shape.size(); ++k) slice *= data->shape[k];
  Elements out = *data->elements;
  bool known = true;
  int64_t row = 0;
  for_each_index(prefix, [&](const std::vector<int64_t>&) {
    int64_t offset = 0;
    for (size_t k = 0; k < depth && known; ++k) {
      auto at =
          index_position(indices->at(row * static_cast<int64_t>(depth) + static_cast<int64_t>(k)), data->shape[k]);
      known = at.has_value();
      if (at) offset += *at * strides[k];
    }
    for (int64_t i = 0; i < slice && known; ++i)
      write(out[static_cast<size_t>(offset + i)], updates->at(row * slice + i), reduction);
    ++row;
  });
  if (known) ctx.set_elements(0, std::move(out));
}

void scatter_nd(Context& ctx) {
  same_as_input(ctx, 0, 0);
  const Fact& data = ctx.input(0);
  const Fact& indices = ctx.input(1);
  const Fact& updates = ctx.input(2);
  if (!data.has_rank() || !indices.has_rank()) return;
  if (indices.rank() < 1) return ctx.invalid("the indices of a ScatterND are a scalar");
  const int last = indices.rank() - 1;
  auto depth = indices.dim(last).constant();
  if (!depth) {
    // The ranks tell how many coordinates there are.
    ctx.require_at_most(indices.dim(last), data.rank(), "coordinates of a ScatterND's indices", {1, last});
    if (!updates.has_rank()) return;
    depth = last + data.rank() - updates.rank();
    ctx.require_equal(*depth, indices.dim(last), "coordinates of a ScatterND's indices", {}, {1, last});
  }
  if (*depth < 0 || *depth > data.rank()) {
    return ctx.invalid("indices of " + std::to_string(*depth) + " coordinates into data of rank " +
                       std::to_string(data.rank()));
  }
  Shape expected(indices.shape->begin(), indices.shape->end() - 1);
  expected.insert(expected.end(), data.shape->begin() + *depth, data.shape->end());
  if (updates.has_rank()) require_same_shape(ctx, expected, updates.shape, "updates of a ScatterND");
  scatter_nd_values(ctx, static_cast<size_t>(*depth), reduction_of(ctx));
}

// A write into a cache: the cache's shape, `update` differing along one axis only.
void tensor_scatter(Context& ctx) {
  same_as_input(ctx, 0, 0);
  const Fact& cache = ctx.input(0);
  const Fact& update = ctx.input(1);
  if (!cache.has_rank()) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", -2), cache.rank());
  if (!axis) return;
  if (update.has_rank() && update.rank() != cache.rank()) {
    return ctx.invalid("a cache of rank " + std::to_string(cache.rank()) + " and an update of rank " +
                       std::to_string(update.rank()) + " must have one rank");
  }
  Shape out = *cache.shape;
  for (int k = 0; k < cache.rank() && update.has_rank(); ++k) {
    if (k == *axis)
      ctx.require_at_most(update.dim(k), cache.dim(k), "the length of an update and its cache", {1, k}, {0, k});
    else
      out[k] = ctx.require_equal(cache.dim(k), update.dim(k), "a cache and its update", {0, k}, {1, k});
  }
  const Fact& write_indices = ctx.input(2);
  if (write_indices.rank() == 1)
    ctx.require_equal(cache.dim(0), write_indices.dim(0), "a cache's batch and its write indices", {0, 0}, {2, 0});
  ctx.set_tensor(0, cache.dtype, std::move(out));
}

void needs_of_scatter_elements(Context& ctx) {
  const Fact& data = ctx.input(0);
  const int64_t axis = ctx.attr_int("axis", 0), at = axis < 0 ? axis + data.rank() : axis;
  need_index(ctx, 1, at >= 0 && at < data.rank() ? data.dim(static_cast<int>(at)) : dim::Dim(),
             "an index and the axis it writes to");
}

void needs_of_scatter_nd(Context& ctx) { need_coordinates(ctx, 1, 0); }

// Written from there on, all of it within the cache; in circles it goes on at its beginning.
void needs_of_tensor_scatter(Context& ctx) {
  if (!ctx.has_input(2)) return;
  const Fact &cache = ctx.input(0), &update = ctx.input(1);
  const int64_t axis = ctx.attr_int("axis", -2), at = axis < 0 ? axis + cache.rank() : axis;
  const bool is_known = at >= 0 && at < cache.rank() && update.rank() == cache.rank();
  constexpr std::string_view kWhat = "where an update of a cache begins";
  if (!is_known || ctx.attr_string("mode", "linear") != "linear") return ctx.leave_open(kWhat, 2);
  const int k = static_cast<int>(at);
  need_between(ctx, 2, 0, cache.dim(k) - update.dim(k), kWhat);
}

std::optional<AxesMap> scatter_elements_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 1 || view.input(1).rank() != rank) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", 0), rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1), 3);
  map.mix({{0, axis}}, {{0, axis}});
  map.contract({{1, axis}, {2, axis}});
  return map;
}

std::optional<AxesMap> scatter_nd_axes(NodeView& view) {
  const Fact &data = view.input(0), &indices = view.input(1);
  if (!data.has_rank() || indices.rank() < 1) return std::nullopt;
  const auto depth = indices.dim(indices.rank() - 1).constant();
  if (!depth || *depth > data.rank()) return std::nullopt;
  AxesMap map;
  const int prefix = indices.rank() - 1, written = static_cast<int>(*depth);
  for (int k = 0; k < written; ++k) map.mix({{0, k}}, {{0, k}});
  for (int k = 0; k < prefix; ++k) map.contract({{1, k}, {2, k}});
  map.contract({{1, prefix}});
  for (int k = written; k < data.rank(); ++k) map.keep({{0, k}, {2, prefix + k - written}}, {{0, k}});
  return map;
}

// A write into the cache of each row of the batch.
std::optional<AxesMap> tensor_scatter_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 2) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", -2), rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1), 2);
  if (axis > 0) map.links.front().inputs.push_back({2, 0});
  map.mix({{0, axis}, {1, axis}}, {{0, axis}});
  return map;
}

void batch_scatter_elements(BatchContext& n) {
  const int64_t axis = n.attr_int("axis", 0);
  for (int i = 0; i < 3; ++i) n.set_operand(i, n.leading(i));
  if (axis >= 0) n.set_attribute({"axis", axis + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_scatter_nd(BatchContext& n) {
  // There is no batch axis: the sample's number becomes the first of each index.
  const int index_rank = n.rank(1);
  ir::Value *data = n.leading(0), *indices = n.leading(1), *updates = n.leading(2);
  n.set_operand(0, data);
  n.set_operand(1, with_sample_numbers(n, indices, index_rank));
  n.set_operand(2, updates);
  n.note_change();
  n.keep(Form::kLeading);
}

// Scatter was renamed in opset 11.
void newer_scatter(AdapterContext& n) {
  if (n.node().op_type() == "Scatter" && n.crosses(11)) n.changing().set_op("ScatterElements", "");
}

}  // namespace

void add_scatter_ops(Registry& r) {
  using enum Role;
  r.add({"Scatter", "ScatterElements"}, {.shape = scatter_elements,
                                         .op_class = OpClass::kMovement,
                                         .needs = needs_of_scatter_elements,
                                         .range = range_moved,
                                         .operands = {kData, kIndex, kData},
                                         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 0}},
                                         .axes = axes_by(scatter_elements_axes),
                                         .batch = batch_with(batch_scatter_elements),
                                         .newer = newer_scatter,
                                         .evaluation = Evaluation::kByRule});
  r.add({.name = "ScatterND",
         .shape = scatter_nd,
         .op_class = OpClass::kMovement,
         .needs = needs_of_scatter_nd,
         .range = range_moved,
         .operands = {kData, kIndex, kData},
         .axes = axes_by(scatter_nd_axes),
         .batch = batch_with(batch_scatter_nd),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "TensorScatter",
         .shape = tensor_scatter,
         .op_class = OpClass::kMovement,
         .needs = needs_of_tensor_scatter,
         .operands = {kState, kData, kIndex},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = -2}},
         .axes = axes_by(tensor_scatter_axes)});
}

}  // namespace thaw::ops
