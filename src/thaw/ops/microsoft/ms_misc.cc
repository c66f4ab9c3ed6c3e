// The other operators of com.microsoft: fused products and convolutions, experts, transforms, padding, …
#include <algorithm>
#include <array>
#include <string>

#include "thaw/ops/onnx/conv.h"
#include "thaw/ops/onnx/matmul.h"
#include "thaw/ops/onnx/pool.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void keep_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

Dim last_of(const Fact& fact) { return fact.has_rank() && fact.rank() > 0 ? fact.shape->back() : Dim(); }

// transBatch moves the first axis behind the other batch axes; how that and a transposed matrix combine is not
// documented, so then only the rank is said.
void fused_matmul_rule(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  bool batch_moves = ctx.attr_int("transBatchA", 0) != 0 || ctx.attr_int("transBatchB", 0) != 0;
  if (!batch_moves)
    return ctx.set_tensor(0, dtype,
                          matmul_shape(ctx, 0, 1, ctx.attr_int("transA", 0) != 0, ctx.attr_int("transB", 0) != 0));
  int a = ctx.input(0).rank(), b = ctx.input(1).rank();
  ctx.set_tensor(0, dtype, a >= 2 && b >= 2 ? std::optional(unknown_shape(std::max(a, b))) : std::nullopt);
}

void gemm_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  ctx.set_tensor(0, first_dtype(ctx), gemm_shape(ctx, 0, 1, ctx.has_input(2) ? 2 : -1, ta, tb));
}

void gemm_float8_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  ctx.set_tensor(0, data_type_from_attr(ctx.attr_int("dtype", 1)),
                 gemm_shape(ctx, 0, 1, ctx.has_input(2) ? 2 : -1, ta, tb));
}

void matmul_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, matmul_shape(ctx, 0, 1)); }

// A convolution with a residual (input 3) of the output's shape.
void fused_conv(Context& ctx, const ConvInputs& inputs) {
  auto shape = conv_shape(ctx, inputs);
  if (ctx.has_input(3)) shape = require_same_shape(ctx, shape, ctx.input(3).shape, "a convolution and its residual");
  ctx.set_tensor(0, ctx.input(0).dtype, std::move(shape));
}

void fused_conv_rule(Context& ctx) { fused_conv(ctx, {.bias = 2}); }
void nhwc_conv_rule(Context& ctx) { fused_conv(ctx, {.bias = 2, .channels_last = true}); }

void nhwc_max_pool_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, pool_shape(ctx, true)); }

void inverse_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (!x.has_rank()) return;
  int rank = x.rank();
  if (rank < 2) return ctx.invalid("Inverse needs matrices, not rank " + std::to_string(rank));
  ctx.require_equal(x.dim(rank - 2), x.dim(rank - 1), "sides of Inverse's square matrices", {0, rank - 2},
                    {0, rank - 1});
}

void unique_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  Dim count = ctx.data_dependent(0, 0);
  ctx.set_tensor(0, x.dtype, Shape{count});
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt64, Shape{x.rank() == 1 ? x.dim(0) : Dim()});
  if (ctx.wants_output(2)) ctx.set_tensor(2, DataType::kInt64, Shape{count});
}

// pads: begins of all axes, then ends; of shape [2 * rank] or [1, 2 * rank].
void pad_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  if (!x.has_rank()) return;
  const Elements* pads = ctx.elements(1);
  size_t rank = x.shape->size();
  if (!pads) return;
  if (pads->size() != 2 * rank)
    return ctx.invalid("pads has " + std::to_string(pads->size()) + " values for rank " + std::to_string(rank));
  Shape out = *x.shape;
  for (size_t k = 0; k < rank; ++k) out[k] = out[k] + (*pads)[k].as_dim() + (*pads)[rank + k].as_dim();
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// scores_out is shaped as the scores, input 1.
void ngram_repeat_rule(Context& ctx) { shape_of_input(ctx, 0, 1, ctx.input(1).dtype); }

void crop_and_resize_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &rois = ctx.input(1), &batch = ctx.input(2);
  Dim count = rois.rank() == 2 ? rois.dim(0) : Dim();
  if (batch.rank() == 1)
    count = ctx.require_equal(count, batch.dim(0), "regions and their batch indices", {1, 0}, {2, 0});
  auto size = ctx.dims_from(3);
  Shape out = {count, x.rank() == 4 ? x.dim(1) : Dim(), Dim(), Dim()};
  if (size && size->size() == 2) {
    out[2] = (*size)[0];
    out[3] = (*size)[1];
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void grid_sample_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &grid = ctx.input(1);
  Shape out = unknown_shape(4);
  if (x.rank() == 4) {
    out[0] = x.dim(0);
    out[1] = x.dim(1);
  }
  if (grid.rank() == 4) {
    out[0] = ctx.require_equal(out[0], grid.dim(0), "batch of GridSample's input and grid", {0, 0}, {1, 0});
    out[2] = grid.dim(1);
    out[3] = grid.dim(2);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// The last axis of n real numbers becomes n / 2 + 1 complex ones, as pairs.
void rfft_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() < 1) return ctx.set_tensor(0, x.dtype, std::nullopt);
  Shape out = *x.shape;
  if (ctx.attr_int("signal_ndim", 1) == 1)
    out.back() = dim::floor_div(out.back(), 2) + 1;
  else
    out.back() = Dim();
  out.push_back(2);
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void irfft_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() < 2) return ctx.set_tensor(0, x.dtype, std::nullopt);
  Shape out(x.shape->begin(), x.shape->end() - 1);
  out.back() = ctx.attr_int("signal_ndim", 1) == 1 ? (out.back() - 1) * 2 : Dim();
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// (batch, sequence, hidden) -> (tokens, hidden), offsets (batch, sequence), cumulative lengths (batch + 1), the longest
// (1).
void remove_padding_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  Dim batch = x.rank() == 3 ? x.dim(0) : Dim(), length = x.rank() == 3 ? x.dim(1) : Dim();
  ctx.set_tensor(0, x.dtype, Shape{ctx.data_dependent(0, 0), x.rank() == 3 ? x.dim(2) : Dim()});
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt32, Shape{batch, length});
  if (ctx.wants_output(2)) ctx.set_tensor(2, DataType::kInt32, Shape{batch + 1});
  if (ctx.wants_output(3)) ctx.set_tensor(3, DataType::kInt32, Shape{1});
}

void restore_padding_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &offsets = ctx.input(1);
  Shape out = {Dim(), Dim(), last_of(x)};
  if (offsets.rank() == 2) {
    out[0] = offsets.dim(0);
    out[1] = offsets.dim(1);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void relative_position_bias_rule(Context& ctx) {
  const Fact& table = ctx.input(0);
  auto query = ctx.dims_from(1), key = ctx.dims_from(2);
  ctx.set_tensor(
      0, table.dtype,
      Shape{1, table.rank() == 2 ? table.dim(1) : Dim(), query && query->size() == 1 ? query->front() : Dim(),
            key && key->size() == 1 ? key->front() : Dim()});
}

void expand_dims_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank() + 1)) : std::nullopt);
  auto fed = ctx.dims_from(1);
  if (!x.has_rank() || !fed || fed->size() != 1) return;
  int rank = x.rank() + 1;
  Dim axis = fed->front();
  if (auto plain = axis.constant()) {
    auto at = normalize_axis(ctx, *plain, rank);
    if (!at) return;
    axis = *at;
  }
  Dim at = wrapped_axis(axis, rank);
  Shape out(static_cast<size_t>(rank));
  for (int k = 0; k < rank; ++k) {
    out[k] = is_equal(at, k);
    if (k + 1 < rank) out[k] = out[k] + is_less(k, at) * x.dim(k);
    if (k > 0) out[k] = out[k] + is_less(at, k) * x.dim(k - 1);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void embedding_rule(Context& ctx) {
  const Fact &table = ctx.input(0), &indices = ctx.input(1);
  std::optional<Shape> out = indices.shape;
  if (out) out->push_back(table.rank() == 2 ? table.dim(1) : Dim());
  ctx.set_tensor(0, table.dtype, std::move(out));
}

void cdist_rule(Context& ctx) {
  const Fact &a = ctx.input(0), &b = ctx.input(1);
  if (a.rank() == 2 && b.rank() == 2) ctx.require_equal(a.dim(1), b.dim(1), "CDist's vectors", {0, 1}, {1, 1});
  ctx.set_tensor(0, a.dtype, Shape{a.rank() == 2 ? a.dim(0) : Dim(), b.rank() == 2 ? b.dim(0) : Dim()});
}

// Slices of `size` elements, `step` apart, along `dim`; the slice is a new last axis.
void unfold_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, std::nullopt);
  if (!x.has_rank() || x.rank() == 0) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("dim", -1), x.rank());
  int64_t size = ctx.attr_int("size", 0), step = ctx.attr_int("step", 1);
  if (!axis) return;
  if (size < 1 || step < 1) return ctx.invalid("size and step must be positive");
  ctx.require_at_most(size, x.dim(*axis), "a slice within the axis", {}, {0, *axis});
  Shape out = *x.shape;
  out[*axis] = dim::floor_div(out[*axis] - size, step) + 1;
  out.push_back(size);
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void broadcast_rule(Context& ctx) {
  constexpr std::array kBoth = {0, 1};
  ctx.set_tensor(0, first_dtype(ctx), broadcast_inputs(ctx, kBoth));
}

void scalar_bool_rule(Context& ctx) { ctx.set_tensor(0, DataType::kBool, Shape{}); }

// Query (B, T, Hq * dk), key (B, T, Hkv * dk), value (B, T, Hkv * dv).
void linear_attention_rule(Context& ctx) {
  const Fact &q = ctx.input(0), &k = ctx.input(1), &v = ctx.input(2), &past = ctx.input(3);
  int64_t hq = ctx.attr_int("q_num_heads", 0), hkv = ctx.attr_int("kv_num_heads", 0);
  ctx.set_tensor(0, q.dtype, unknown_shape(3));
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 3, past.dtype);
  if (hq < 1 || hkv < 1) return ctx.invalid("q_num_heads and kv_num_heads must be positive");
  Dim dv = v.rank() == 3 ? dim::floor_div(v.dim(2), hkv) : Dim(),
      dk = k.rank() == 3 ? dim::floor_div(k.dim(2), hkv) : Dim();
  if (q.rank() == 3) ctx.set_tensor(0, q.dtype, Shape{q.dim(0), q.dim(1), dv * std::max(hq, hkv)});
  if (ctx.wants_output(1) && !past.has_rank() && ctx.attr_int("state_window", 0) == 0)
    ctx.set_tensor(1, past.dtype, Shape{q.rank() == 3 ? q.dim(0) : Dim(), hkv, dk, dv});
}

void causal_conv_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &w = ctx.input(1), &past = ctx.input(3);
  keep_shape(ctx);
  if (!ctx.wants_output(1)) return;
  if (past.has_rank()) return shape_of_input(ctx, 1, 3, past.dtype);
  bool plain =
      ctx.attr_int("ndim", 1) == 1 && ctx.attr_int("state_window", 0) == 0 && ctx.attr_int("channels_last", 0) == 0;
  if (!plain || x.rank() != 3 || w.rank() != 3) return ctx.set_tensor(1, x.dtype, std::nullopt);
  ctx.set_tensor(1, x.dtype, Shape{x.dim(0), x.dim(1), (w.dim(2) - 1) * ctx.attr_int("dilation", 1)});
}

void decay_gate_rule(Context& ctx) {
  keep_shape(ctx);
  if (ctx.wants_output(1)) shape_of_input(ctx, 1, 3, ctx.input(3).dtype);
}

}  // namespace

void add_ms_misc_ops(Registry& r) {
  auto add_op = [&r](std::string_view name, ShapeRule rule, OpClass kind = OpClass::kOther) {
    r.add({kMicrosoft, name, rule, kind});
  };
  for (const char* name : {"FusedMatMul", "TransposeMatMul", "FusedMatMulActivation"})
    add_op(name, fused_matmul_rule, OpClass::kContraction);
  add_op("FusedGemm", gemm_rule, OpClass::kContraction);
  add_op("GemmFloat8", gemm_float8_rule, OpClass::kContraction);
  add_op("GemmFastGelu", matmul_rule, OpClass::kContraction);
  add_op("FusedConv", fused_conv_rule, OpClass::kContraction);
  for (const char* name : {"NhwcConv", "NhwcFusedConv"}) add_op(name, nhwc_conv_rule, OpClass::kContraction);
  add_op("NhwcMaxPool", nhwc_max_pool_rule, OpClass::kReduction);
  for (const char* name : {"MoE", "QMoE"}) add_op(name, keep_shape, OpClass::kContraction);
  add_op("LinearAttention", linear_attention_rule, OpClass::kContraction);
  add_op("CausalConvWithState", causal_conv_rule, OpClass::kContraction);
  add_op("LinearAttentionGate", decay_gate_rule);
  add_op("Inverse", inverse_rule);
  add_op("Trilu", keep_shape);
  add_op("Unique", unique_rule);
  add_op("Pad", pad_rule, OpClass::kMovement);
  add_op("NGramRepeatBlock", ngram_repeat_rule);
  add_op("CropAndResize", crop_and_resize_rule);
  add_op("GridSample", grid_sample_rule);
  add_op("Rfft", rfft_rule);
  add_op("Irfft", irfft_rule);
  add_op("RemovePadding", remove_padding_rule, OpClass::kMovement);
  add_op("RestorePadding", restore_padding_rule, OpClass::kMovement);
  add_op("RelativePositionBias", relative_position_bias_rule);
  add_op("ExpandDims", expand_dims_rule, OpClass::kMovement);
  add_op("TorchEmbedding", embedding_rule, OpClass::kMovement);
  add_op("CDist", cdist_rule, OpClass::kContraction);
  add_op("UnfoldTensor", unfold_rule, OpClass::kMovement);
  for (const char* name : {"ComplexMul", "ComplexMulConj"}) add_op(name, broadcast_rule);
  add_op("IsAllFinite", scalar_bool_rule, OpClass::kReduction);
  add_op("MurmurHash3", [](Context& ctx) {
    shape_of_input(ctx, 0, 0, ctx.attr_int("positive", 1) != 0 ? DataType::kUint32 : DataType::kInt32);
  });
}

}  // namespace thaw::ops
