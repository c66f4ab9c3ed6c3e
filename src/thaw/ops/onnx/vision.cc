// Images: GridSample, AffineGrid, CenterCropPad, Col2Im, ImageDecoder.
#include <algorithm>
#include <numeric>
#include <string>

#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/window.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// X (N, C, d1 … dr), grid (N, o1 … or, r) -> (N, C, o1 … or).
void grid_sample_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &grid = ctx.input(1);
  int rank = x.has_rank() ? x.rank() : grid.rank();
  ctx.set_tensor(0, x.dtype, std::nullopt);
  if (rank < 0) return;
  if (rank < 3 || (grid.has_rank() && grid.rank() != rank))
    return ctx.invalid("GridSample needs an input and a grid of one rank, 3 or more");
  Shape out = unknown_shape(rank);
  if (x.has_rank()) {
    out[0] = x.dim(0);
    out[1] = x.dim(1);
  }
  if (grid.has_rank()) {
    out[0] = ctx.require_equal(out[0], grid.dim(0), "batch of GridSample's input and grid", {0, 0}, {1, 0});
    ctx.require_equal(rank - 2, grid.dim(rank - 1), "coordinates of GridSample's grid", {}, {1, rank - 1});
    for (int k = 2; k < rank; ++k) out[k] = grid.dim(k - 1);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// theta (N, r, r + 1), size (N, C, d1 … dr) -> (N, d1 … dr, r).
void affine_grid_rule(Context& ctx) {
  const Fact& theta = ctx.input(0);
  ctx.set_tensor(0, theta.dtype, std::nullopt);
  auto size = ctx.dims_from(1);
  if (!size) return;
  if (size->size() != 4 && size->size() != 5)
    return ctx.invalid("AffineGrid's size needs 4 or 5 values, not " + std::to_string(size->size()));
  int spatial = static_cast<int>(size->size()) - 2;
  Dim batch = (*size)[0];
  if (theta.has_rank()) {
    if (theta.rank() != 3)
      return ctx.invalid("AffineGrid's theta has rank " + std::to_string(theta.rank()) + ", not 3");
    batch = ctx.require_equal(theta.dim(0), batch, "batch of AffineGrid's theta and size", {0, 0}, {1, 0});
    ctx.require_equal(spatial, theta.dim(1), "rows of AffineGrid's matrices", {}, {0, 1});
    ctx.require_equal(spatial + 1, theta.dim(2), "columns of AffineGrid's matrices", {}, {0, 2});
  }
  Shape out = {batch};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(spatial);
  ctx.set_tensor(0, theta.dtype, std::move(out));
}

void center_crop_pad_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  auto asked = ctx.dims_from(1);
  auto given = ctx.attr_ints("axes");
  if (!x.has_rank()) {
    if (asked && !given) ctx.set_tensor(0, x.dtype, std::move(asked));
    return;
  }
  std::vector<int> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (given) {
    auto normal = normalize_axes(ctx, *given, x.rank());
    if (!normal) return;
    axes = std::move(*normal);
  }
  if (asked && asked->size() != axes.size())
    return ctx.invalid("CenterCropPad's shape has " + std::to_string(asked->size()) + " values for " +
                       std::to_string(axes.size()) + " axes");
  Shape out = *x.shape;
  for (size_t i = 0; i < axes.size(); ++i) out[axes[i]] = asked ? (*asked)[i] : Dim();
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// (N, C * block, L) -> (N, C, image…), where L is the number of positions that the block takes in the image.
void col2im_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, std::nullopt);
  if (x.has_rank() && x.rank() != 3)
    return ctx.invalid("Col2Im needs (N, C * block, L), not rank " + std::to_string(x.rank()));
  auto image = ctx.dims_from(1), block = ctx.dims_from(2);
  if (!image) return;
  if (block && block->size() != image->size())
    return ctx.invalid("Col2Im's image_shape and block_shape differ in length");
  Shape out = unknown_shape(2);
  out.insert(out.end(), image->begin(), image->end());
  if (x.has_rank()) out[0] = x.dim(0);
  if (x.has_rank() && block) {
    Dim size = dim::product(*block);
    ctx.require_divisible(x.dim(1), size, "Col2Im's channels by the block", {0, 1});
    out[1] = dim::floor_div(x.dim(1), size);
    if (auto window = read_window(ctx, static_cast<int>(image->size()))) {
      window->kernel = *block;
      Dim positions = 1;
      for (size_t k = 0; k < image->size(); ++k)
        positions = positions * window_output(ctx, *window, k, (*image)[k], {});
      ctx.require_equal(positions, x.dim(2), "Col2Im's blocks in the image", {}, {0, 2});
    }
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void image_decoder_rule(Context& ctx) {
  Dim channels = ctx.attr_string("pixel_format", "RGB") == "Grayscale" ? 1 : 3;
  ctx.set_tensor(0, DataType::kUint8, Shape{ctx.data_dependent(0, 0), ctx.data_dependent(0, 1), channels});
}

// ONNX Runtime cuts and pads by sizes below 0, too, whatever comes of it.
void needs_of_center_crop_pad(Context& ctx) {
  need_known(ctx, 1, "the sizes of a CenterCropPad");
  const auto sizes = ctx.dims_from(1);
  for (size_t k = 0; sizes && k < sizes->size(); ++k) {
    const Dim size = (*sizes)[k];
    if (size.is_unknown() || ctx.holds_at_least(size, 0)) continue;
    ctx.require_of_values(0, size, "a size of a CenterCropPad", 1, true);
    ctx.imply_at_least(size, 0);
  }
}

void needs_of_affine_grid(Context& ctx) { need_at_least(ctx, 1, 1, "the sizes of an AffineGrid"); }

// The axes that are cut or padded: all where none are given.
std::vector<int64_t> cropped_axes(const NodeView& view, int rank) {
  auto axes = view.attr_ints("axes").value_or(std::vector<int64_t>());
  if (!axes.empty()) return axes;
  axes.resize(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::optional<AxesMap> center_crop_pad_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const auto cropped = cropped_axes(view, rank);
  return AxesMap::in_place(rank, [&](int k) {
    return std::ranges::any_of(cropped, [&](int64_t axis) { return BatchContext::positive(axis, rank) == k; });
  });
}

void batch_center_crop_pad(BatchContext& n) {
  n.require_same_for_all(1, "size");
  const auto axes = BatchContext::shifted(cropped_axes(n, n.rank(0)));
  n.set_operand(0, n.leading(0));
  n.set_attribute({"axes", axes});
  n.note_change();
  n.keep(Form::kLeading);
}

void batch_affine_grid(BatchContext& n) {
  n.require_same_for_all(1, "size");
  ir::Value* both = n.slice(n.shape(n.leading(0)), 0, 2);
  ir::Value* flattened = n.flattened(n.leading(0));
  ir::Value* size = n.concat({n.slice(n.shape(flattened), 0, 1), n.slice(n.original(1), 1)}, 0);
  n.set_operand(0, flattened);
  n.set_operand(1, size);
  n.become(0, n.after().unflattened(n.node().output(0), both), Form::kLeading);
}

void newer_grid_sample(AdapterContext& n) {
  const std::string_view mode = n.attr_string("mode", "bilinear");
  if (n.crosses(20) && mode != "nearest") n.set({"mode", std::string(mode == "bicubic" ? "cubic" : "linear")});
}

void older_grid_sample(AdapterContext& n) {
  const std::string_view mode = n.attr_string("mode", "linear");
  if (n.crosses(20) && n.input(0).rank() != 4 && n.input(1).rank() != 4)
    throw NoEqual{"it is not known to look at images of two axes"};
  if (n.crosses(20) && mode != "nearest") n.set({"mode", std::string(mode == "cubic" ? "bicubic" : "bilinear")});
}

}  // namespace

void add_vision_ops(Registry& r) {
  using enum Role;
  // Where in the image to look is said for each position of the output.
  r.add({.name = "GridSample",
         .shape = grid_sample_rule,
         .axes = axes_by("n c x~..., n y... _ -> n c y..."),
         .newer = newer_grid_sample,
         .older = older_grid_sample});
  r.add({.name = "AffineGrid",
         .shape = affine_grid_rule,
         .needs = needs_of_affine_grid,
         .operands = {kData, kShape},
         .axes = axes_by("n _ _ -> n"),
         .batch = batch_with(batch_affine_grid)});
  r.add({.name = "CenterCropPad",
         .shape = center_crop_pad_rule,
         .needs = needs_of_center_crop_pad,
         .operands = {kData, kShape},
         .attributes = {{"axes", kAxes}},
         .axes = axes_by(center_crop_pad_axes),
         .batch = batch_with(batch_center_crop_pad)});
  r.add({.name = "Col2Im",
         .shape = col2im_rule,
         .needs = needs_known<1, 2>,
         .operands = {kData, kShape, kSetting},
         .axes = axes_by("n c~ l~ -> n c~")});
  r.add({.name = "ImageDecoder", .shape = image_decoder_rule, .axes = no_axes(kSizedByData)});
}

}  // namespace thaw::ops
