// Pools: windowed and global, MaxUnpool, MaxRoiPool and RoiAlign.
#include "thaw/ops/onnx/pool.h"

#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

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

void max_unpool_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  if (!rank_fits(ctx, 0, 2, kAnyRank)) return;
  auto joined = require_same_shape(ctx, x.shape, ctx.input(1).shape, "MaxUnpool's values and indices");
  if (!joined) return;
  if (ctx.has_input(2)) {
    auto asked = ctx.dims_from(2);
    if (!asked || asked->size() != joined->size()) {
      if (asked)
        ctx.invalid("MaxUnpool's output_shape has " + std::to_string(asked->size()) + " values for rank " +
                    std::to_string(joined->size()));
      return;
    }
    return ctx.set_tensor(0, x.dtype, std::move(asked));
  }
  int spatial = static_cast<int>(joined->size()) - 2;
  auto window = read_window(ctx, spatial);
  if (!window) return;
  Shape out = *joined;
  for (int k = 0; k < spatial; ++k)
    out[k + 2] =
        Dim(window->strides[k]) * (out[k + 2] - 1) + window->kernel[k] - window->pads_begin[k] - window->pads_end[k];
  ctx.set_tensor(0, x.dtype, std::move(out));
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

}  // namespace

std::optional<Shape> pool_shape(Context& ctx, bool channels_last) {
  const Fact& x = ctx.input(0);
  if (!rank_fits(ctx, 0, 2, kAnyRank)) return std::nullopt;
  if (!x.has_rank()) {
    int spatial = spatial_rank_of_attributes(ctx);
    return spatial < 0 ? std::nullopt : std::optional(unknown_shape(spatial + 2));
  }
  int spatial = x.rank() - 2, first = channels_last ? 1 : 2;
  auto window = read_window(ctx, spatial);
  if (window) window->is_pool = true;
  Shape out = *x.shape;
  for (int k = 0; k < spatial; ++k)
    out[first + k] = window ? window_output(ctx, *window, k, x.dim(first + k), {0, first + k}) : Dim();
  return out;
}

std::optional<Shape> global_pool_shape(Context& ctx, bool channels_last) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || !rank_fits(ctx, 0, 2, kAnyRank)) return std::nullopt;
  Shape out = *x.shape;
  for (int k = 0; k < x.rank() - 2; ++k) out[k + (channels_last ? 1 : 2)] = 1;
  return out;
}

void add_pool_ops(Registry& r) {
  const auto add_op = r.group("", OpClass::kReduction);
  add_op("AveragePool", pool_rule);
  add_op("LpPool", pool_rule);
  add_op("MaxPool", max_pool_rule);
  for (const char* name : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) add_op(name, global_pool_rule);
  r.add({"", "MaxUnpool", max_unpool_rule, OpClass::kOther});
  r.add({"", "MaxRoiPool", max_roi_pool_rule, OpClass::kOther});
  r.add({"", "RoiAlign", roi_align_rule, OpClass::kOther});
}

}  // namespace thaw::ops
