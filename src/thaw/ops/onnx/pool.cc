// Pools: windowed and global, MaxUnpool, MaxRoiPool and RoiAlign.
#include "thaw/ops/onnx/pool.h"

#include <string>

#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// The numbers of that operand say which of the images is looked at.
void name_image_by(AxesMap& map, int operand) {
  for (AxisLink& link : map.links) {
    if (link.axis_of_input(0) != 0) continue;
    link.combine = Combine::kOther;
    link.index = operand;
  }
}

bool rank_fits(Context& ctx, int input, int lowest, int highest) {
  const Fact& fact = ctx.input(input);
  if (!fact.has_rank() || (fact.rank() >= lowest && fact.rank() <= highest)) return true;
  ctx.invalid("input " + std::to_string(input) + " has rank " + std::to_string(fact.rank()) + ", not " +
              std::to_string(lowest) + (highest > lowest ? " or more" : ""));
  return false;
}

constexpr int kAnyRank = 1 << 20;

void pool_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, pool_shape(ctx)); }

void max_pool_rule(Context& ctx) {
  auto shape = pool_shape(ctx);
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt64, shape);
  ctx.set_tensor(0, ctx.input(0).dtype, std::move(shape));
}

void global_pool_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, global_pool_shape(ctx)); }

// As large as the windows reach together.
std::optional<Shape> unpooled_shape(Context& ctx, const Shape& in) {
  const int spatial = static_cast<int>(in.size()) - 2;
  auto window = read_window(ctx, spatial);
  if (!window) return std::nullopt;
  Shape out = in;
  for (int k = 0; k < spatial; ++k)
    out[k + 2] =
        Dim(window->strides[k]) * (out[k + 2] - 1) + window->kernel[k] - window->pads_begin[k] - window->pads_end[k];
  return out;
}

void max_unpool_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  if (!rank_fits(ctx, 0, 2, kAnyRank)) return;
  auto shared = require_same_shape(ctx, x.shape, ctx.input(1).shape, "MaxUnpool's values and indices");
  if (!shared) return;
  if (ctx.has_input(2)) {
    auto asked = ctx.dims_from(2);
    if (!asked || asked->size() != shared->size()) {
      if (asked)
        ctx.invalid("MaxUnpool's output_shape has " + std::to_string(asked->size()) + " values for rank " +
                    std::to_string(shared->size()));
      return;
    }
    const auto least = unpooled_shape(ctx, *shared);
    for (size_t k = 0; least && k < shared->size(); ++k) {
      const At from{0, static_cast<int>(k)};
      if (k < 2) {
        ctx.require_equal((*shared)[k], (*asked)[k], "batch and channels of a MaxUnpool", from);
      } else {
        ctx.require_at_most((*least)[k], (*asked)[k], "what a MaxUnpool makes and its output_shape");
      }
    }
    return ctx.set_tensor(0, x.dtype, std::move(asked));
  }
  if (auto out = unpooled_shape(ctx, *shared)) ctx.set_tensor(0, x.dtype, std::move(out));
}

Dim regions(Context& ctx, int width) {
  const Fact& rois = ctx.input(1);
  if (!rois.has_rank() || !rank_fits(ctx, 1, 2, 2)) return {};
  ctx.require_equal(width, rois.dim(1), "numbers of a region", {}, {1, 1});
  return rois.dim(0);
}

Shape region_shape(Context& ctx, Dim count, Dim height, Dim width) {
  const Fact& x = ctx.input(0);
  Dim channels = rank_fits(ctx, 0, 4, 4) && x.has_rank() ? x.dim(1) : Dim();
  return {count, channels, height, width};
}

void max_roi_pool_rule(Context& ctx) {
  auto pooled = ctx.attr_ints("pooled_shape").value_or(std::vector<int64_t>());
  if (pooled.size() != 2) {
    ctx.invalid("pooled_shape needs two values");
    pooled.clear();
  }
  Dim height = pooled.empty() ? Dim() : Dim(pooled[0]), width = pooled.empty() ? Dim() : Dim(pooled[1]);
  ctx.set_tensor(0, ctx.input(0).dtype, region_shape(ctx, regions(ctx, 5), height, width));
}

void roi_align_rule(Context& ctx) {
  Dim count = regions(ctx, 4);
  const Fact& batch = ctx.input(2);
  if (batch.rank() == 1)
    count = ctx.require_equal(count, batch.dim(0), "regions and their batch indices", {1, 0}, {2, 0});
  ctx.set_tensor(0, ctx.input(0).dtype,
                 region_shape(ctx, count, ctx.attr_int("output_height", 1), ctx.attr_int("output_width", 1)));
}

// Each index counts elements of the whole output.
void needs_of_max_unpool(Context& ctx) {
  need_between(ctx, 1, 0, ctx.output(0).num_elements() - 1, "an index and the elements of a MaxUnpool");
  need_known(ctx, 2, "the sizes of a MaxUnpool");
}

void needs_of_roi_align(Context& ctx) {
  const Fact& x = ctx.input(0);
  need_between(ctx, 2, 0, x.rank() > 0 ? x.dim(0) - 1 : Dim(), "an image of a RoiAlign and its batch");
}

template <Combine kCombine>
std::optional<AxesMap> global_axes(NodeView& view) {
  return global_pool_axes(view, kCombine);
}

std::optional<AxesMap> max_roi_pool_axes(NodeView& view) {
  auto map = match_axes("n c h~ w~, r _ -> r c h~ w~", view);
  if (map) name_image_by(*map, 1);
  return map;
}

// Indices count elements of all samples together: less by those of the samples before.
void batch_max_pool(BatchContext& n) {
  const int rank = n.rank(0);
  const ir::Value* indices = n.node().output(1);
  const bool counts = indices && indices->is_used();
  batch_by_axes(n);
  if (!counts) return;
  const Batched found = n.result(1);
  const BatchEmit after(n.state(), n.graph(), n.graph().next(found.value->producer()));
  ir::Value* size = after.div(after.emit("Size", {n.original(0)}), after.squeeze(after.batch_size(), {0}));
  ir::Value* before = after.mul(after.sample_numbers(rank - (found.form == Form::kMerged ? 1 : 0)), size);
  n.become(1, after.sub(found.value, before), found.form);
}

void batch_max_unpool(BatchContext& n) {
  n.require_same_for_all(2, "size");
  ir::Value* size = nullptr;
  const auto known = n.output(0).num_elements().constant();
  if (n.original(2)) {
    size = n.reduce("ReduceProd", n.original(2), {0}, false);
  } else if (known) {
    size = n.integer(*known);
  } else {
    BatchContext::refuse("its indices count the whole tensor, whose size is not known");
  }
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  ir::Value* indices = n.add(n.leading(1), n.mul(n.sample_numbers(n.rank(0)), size));
  n.set_operand(0, n.flattened(n.leading(0)));
  n.set_operand(1, n.flattened(indices));
  if (n.original(2)) n.set_operand(2, n.concat({n.slice(n.shape(n.original(0)), 0, 1), n.slice(n.original(2), 1)}, 0));
  n.become(0, n.after().unflattened(n.node().output(0), both), Form::kLeading);
}

void newer_pool(AdapterContext& n) {
  if (n.crosses(19) && n.attr_int("ceil_mode", 0) != 0 && n.attr_int("count_include_pad", 0) != 0)
    throw NoEqual{"what lies behind the edge is counted otherwise"};
}

void newer_roi_align(AdapterContext& n) {
  constexpr std::string_view kMode = "coordinate_transformation_mode";
  if (n.crosses(16) && !n.has_attribute(kMode)) n.set({std::string(kMode), std::string("output_half_pixel")});
}

}  // namespace

std::optional<Shape> pool_shape(Context& ctx, bool channels_last, bool must_fit) {
  const Fact& x = ctx.input(0);
  if (!rank_fits(ctx, 0, 2, kAnyRank)) return std::nullopt;
  if (!x.has_rank()) {
    int spatial = spatial_rank_of_attributes(ctx);
    return spatial < 0 ? std::nullopt : std::optional(unknown_shape(spatial + 2));
  }
  int spatial = x.rank() - 2, first = channels_last ? 1 : 2;
  auto window = read_window(ctx, spatial);
  if (window) window->is_pool = true;
  if (window) window->must_fit = must_fit;
  Shape out = *x.shape;
  for (int k = 0; k < spatial; ++k)
    out[first + k] = window ? window_output(ctx, *window, k, x.dim(first + k), {0, first + k}) : Dim();
  return out;
}

std::string_view reduction_of_pool(const ir::Node& node) {
  if (!node.domain().empty()) return {};
  if (node.op_type() == "AveragePool") return "ReduceMean";
  const ir::Value* indices = node.output(1);
  return node.op_type() == "MaxPool" && !(indices && indices->is_used()) ? "ReduceMax" : "";
}

std::optional<Shape> global_pool_shape(Context& ctx, bool channels_last) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || !rank_fits(ctx, 0, 2, kAnyRank)) return std::nullopt;
  Shape out = *x.shape;
  for (int k = 0; k < x.rank() - 2; ++k) out[k + (channels_last ? 1 : 2)] = 1;
  return out;
}

std::optional<AxesMap> global_pool_axes(NodeView& view, Combine combine, bool channels_last) {
  const int rank = view.input(0).rank(), channels = channels_last ? rank - 1 : 1;
  if (rank < 2) return std::nullopt;
  AxesMap map;
  for (int k = 0; k < rank; ++k) {
    if (k == 0 || k == channels) {
      map.keep({{0, k}}, {{0, k}});
    } else {
      map.contract({{0, k}}, combine);
    }
  }
  return map;
}

std::optional<AxesMap> region_axes(NodeView& view) {
  auto map = match_axes("n c h~ w~, r _, r -> r c h~ w~", view);
  if (map) name_image_by(*map, 2);
  return map;
}

void batch_regions(BatchContext& n) {
  for (int i = 3; i < n.num_inputs(); ++i) n.require_same_for_all(i, "size");
  ir::Value *regions = n.leading(1), *numbers = n.leading(2);
  if (n.is_batched(0)) {
    // The images of the samples before come first.
    ir::Value* images = n.leading(0);
    ir::Value* count = n.slice(n.shape(images), 1, 2);
    numbers = n.add(numbers, n.cast(n.mul(n.sample_numbers(1), count), n.input(2).dtype));
    n.set_operand(0, n.flattened(images));
  }
  ir::Value* both = n.slice(n.shape(regions), 0, 2);
  n.set_operand(1, n.flattened(regions));
  n.set_operand(2, n.reshape(numbers, n.list({-1})));
  n.become(0, n.after().unflattened(n.node().output(0), both), Form::kLeading);
}

void add_pool_ops(Registry& r) {
  using enum Role;
  r.add({.name = "AveragePool",
         .shape = pool_rule,
         .op_class = OpClass::kReduction,
         .axes = kPoolAxes,
         .newer = newer_pool});
  r.add({.name = "LpPool",
         .shape = pool_rule,
         .op_class = OpClass::kReduction,
         .axes = kPoolAxes,
         .newer = newer_pool,
         .widens = true});
  r.add({.name = "MaxPool",
         .shape = max_pool_rule,
         .op_class = OpClass::kReduction,
         .axes = axes_by("n c x~... -> n c x~..., n c x~..."),
         .batch = batch_with(batch_max_pool),
         .saturates = true});
  const auto add_global = [&r](Operator op) {
    op.shape = global_pool_rule;
    op.op_class = OpClass::kReduction;
    r.add(std::move(op));
  };
  add_global({.name = "GlobalAveragePool", .axes = axes_by(global_axes<Combine::kMean>)});
  add_global({.name = "GlobalMaxPool", .axes = axes_by(global_axes<Combine::kMaximum>), .saturates = true});
  add_global({.name = "GlobalLpPool", .axes = axes_by(global_axes<Combine::kSum>), .widens = true});
  r.add({.name = "MaxUnpool",
         .shape = max_unpool_rule,
         .needs = needs_of_max_unpool,
         .operands = {kData, kIndex, kShape},
         .axes = axes_by("n c x~..., n c x~... -> n c x~..."),
         .batch = batch_with(batch_max_unpool)});
  r.add({.name = "MaxRoiPool",
         .shape = max_roi_pool_rule,
         .operands = {kData, kRegion},
         .axes = axes_by(max_roi_pool_axes),
         .batch = no_batch("its regions name their image by a float number; RoiAlign can be batched")});
  r.add({.name = "RoiAlign",
         .shape = roi_align_rule,
         .needs = needs_of_roi_align,
         .operands = {kData, kRegion, kIndex},
         .axes = axes_by(region_axes),
         .batch = batch_with(batch_regions),
         .newer = newer_roi_align});
}

}  // namespace thaw::ops
