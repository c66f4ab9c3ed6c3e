// Operators that grow a tensor: Concat, Tile, Expand, Pad.
#include <algorithm>
#include <string>

#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"

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
    out[k] = ctx.require_broadcast(from, to, "an Expand's sizes", {in_axis >= 0 ? 0 : -1, in_axis}, {1, -1});
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

constexpr int kMaxFedRank = 16;           // axes that only the run names are looked for among at most so many
constexpr int64_t kLargestPad = 1 << 20;  // of a small tensor whose elements are followed

// begins and ends of every axis; unknown entries where they are not known. nullopt when nothing is known, or it is
// wrong.
std::optional<std::vector<Dim>> pads_of(Context& ctx, int rank) {
  std::optional<std::vector<Dim>> pads;
  if (ctx.opset() >= 11) {
    pads = ctx.dims_from(1);
  } else if (auto attr = ctx.attr_ints(ctx.opset() < 2 ? "paddings" : "pads")) {
    pads.emplace(attr->begin(), attr->end());
  }
  if (!pads) return std::nullopt;
  if (!ctx.has_input(3)) {
    if (pads->size() == 2 * static_cast<size_t>(rank)) return pads;
    ctx.invalid(std::to_string(pads->size()) + " pads for a tensor of rank " + std::to_string(rank));
    return std::nullopt;
  }
  auto axes = ctx.dims_from(3);
  if (!axes) return std::nullopt;
  if (pads->size() != 2 * axes->size()) {
    ctx.invalid(std::to_string(pads->size()) + " pads for " + std::to_string(axes->size()) + " axes");
    return std::nullopt;
  }
  auto constant = ctx.ints(3);
  if (constant && !normalize_axes(ctx, *constant, rank)) return std::nullopt;
  if (!constant && rank > kMaxFedRank) return std::nullopt;
  std::vector<Dim> all(2 * static_cast<size_t>(rank), Dim(int64_t{0}));
  auto add = [&](size_t to, Dim pad) { all[to] = all[to] + pad; };
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim begin = (*pads)[i], end = (*pads)[i + axes->size()], axis = wrapped_axis((*axes)[i], rank);
    if (auto k = axis.constant()) {
      add(static_cast<size_t>(*k), begin);
      add(static_cast<size_t>(*k + rank), end);
      continue;
    }
    // An axis that only the run names is each axis in turn, where it is equal to it.
    for (int k = 0; k < rank; ++k) {
      Dim here = is_equal(axis, k);
      add(static_cast<size_t>(k), select(here, begin, 0));
      add(static_cast<size_t>(k) + static_cast<size_t>(rank), select(here, end, 0));
    }
  }
  return all;
}

// Elements of a Pad with a constant.
void pad_elements(Context& ctx, const ConstantShape& out, std::span<const Dim> pads) {
  if (ctx.attr_string("mode", "constant") != "constant") return;
  auto small = small_input(ctx, 0);
  if (!small) return;
  Element fill = Element::integer(0);
  if (ctx.opset() >= 11) {
    if (ctx.has_input(2)) {
      const Elements* value = ctx.elements(2);
      fill = value && value->size() == 1 ? value->front() : Element();
    }
  } else {
    fill = Element::real(ctx.attr_float("value", 0));
  }
  size_t rank = out.size();
  auto strides = strides_of(small->shape);
  auto elements = build_elements(out, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t k = 0; k < rank; ++k) {
      int64_t at = index[k] - *pads[k].constant();
      if (at < 0 || at >= small->shape[k]) return fill;
      offset += at * strides[k];
    }
    return small->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void pad(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  int rank = data.rank();
  auto pads = pads_of(ctx, rank);
  if (!pads) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  Shape out(rank);
  for (int k = 0; k < rank; ++k) out[k] = data.dim(k) + (*pads)[k] + (*pads)[k + rank];
  auto constant = constant_shape(out);
  bool known = std::all_of(pads->begin(), pads->end(), [](Dim d) {
    auto v = d.constant();
    return v && *v >= -kLargestPad && *v <= kLargestPad;
  });
  ctx.set_tensor(0, data.dtype, std::move(out));
  if (constant && known) pad_elements(ctx, *constant, *pads);
}

}  // namespace

void add_concat_ops(Registry& r) {
  r.add({.domain = "", .name = "Concat", .shape = concat, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Tile", .shape = tile, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Expand", .shape = expand, .op_class = OpClass::kMovement});
  r.add({.domain = "", .name = "Pad", .shape = pad, .op_class = OpClass::kMovement});
}

}  // namespace thaw::ops
