// Split: all of a tensor in parts along an axis.
#include <cstdint>
#include <string>

#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

using Dims = std::vector<Dim>;

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
    // ONNX Runtime makes no empty part.
    if (parts > 1)
      ctx.require_at_most(even * (parts - 1) + 1, size, "the parts of a Split within the axis", {}, {0, axis});
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

void split_rule(Context& ctx) {
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

std::optional<AxesMap> split_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", 0), rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1), 1, view.num_outputs());
  AxisLink link{AxisKind::kMixed, Combine::kOther, {{0, axis}}, {}};
  for (int i = 0; i < view.num_outputs(); ++i) link.outputs.push_back({i, axis});
  map.links.push_back(std::move(link));
  return map;
}

// A list of one length is the whole axis: the rule has stated the sum, the size carries over.
void frozen_split(FrozenContext& ctx) {
  if (ctx.num_outputs() == 1 && ctx.output(0).shape && ctx.input(0).shape) ctx.set_shape(0, *ctx.input(0).shape);
}

// One length: the whole axis, whatever it is.
std::optional<std::vector<Dim>> split_sizes_of(ThawedView& view, int /*operand*/) {
  const Fact& in = view.input(0);
  if (view.num_outputs() != 1 || !in.shape) return std::nullopt;
  const int64_t axis = BatchContext::positive(view.attr_int("axis", 0), in.rank());
  if (axis < 0 || axis >= in.rank()) return std::nullopt;
  return std::vector<Dim>{in.dim(static_cast<int>(axis))};
}

void newer_split(AdapterContext& n) {
  if (n.crosses(18) && !n.has_input(1) && !n.has_attribute("split"))
    n.set({"num_outputs", static_cast<int64_t>(n.num_outputs())});
}

}  // namespace

void add_split_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Split",
         .shape = split_rule,
         .op_class = OpClass::kMovement,
         .needs = needs_sizes,
         .range = range_moved,
         .operands = {kData, kLengths},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 0}, {.name = "split", .role = kLengths}},
         .axes = axes_by(split_axes),
         .batch = batch_with(batch_shifting_axes),
         .frozen = frozen_split,
         .sizes = split_sizes_of,
         .newer = newer_split,
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
