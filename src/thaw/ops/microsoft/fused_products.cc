// Products and convolutions of com.microsoft with more to them: FusedMatMul, FusedGemm, GemmFloat8, GemmFastGelu,
// FusedConv, and those whose channels stand last.
#include <algorithm>
#include <string>

#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/conv.h"
#include "thaw/ops/onnx/matmul.h"
#include "thaw/ops/onnx/pool.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/cost.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using ir::DataType;

namespace {

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

void microsoft_gemm_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  ctx.set_tensor(0, first_dtype(ctx), gemm_shape(ctx, 0, 1, ctx.has_input(2) ? 2 : -1, ta, tb));
}

void gemm_float8_rule(Context& ctx) {
  bool ta = ctx.attr_int("transA", 0) != 0, tb = ctx.attr_int("transB", 0) != 0;
  ctx.set_tensor(0, data_type_from_attr(ctx.attr_int("dtype", 1)),
                 gemm_shape(ctx, 0, 1, ctx.has_input(2) ? 2 : -1, ta, tb));
}

void microsoft_matmul_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, matmul_shape(ctx, 0, 1)); }

// A convolution with a residual (input 3) of the output's shape.
void fused_conv(Context& ctx, const ConvInputs& inputs) {
  auto shape = conv_shape(ctx, inputs);
  if (ctx.has_input(3)) shape = require_same_shape(ctx, shape, ctx.input(3).shape, "a convolution and its residual");
  ctx.set_tensor(0, ctx.input(0).dtype, std::move(shape));
}

void fused_conv_rule(Context& ctx) { fused_conv(ctx, {.bias = 2}); }
void nhwc_conv_rule(Context& ctx) { fused_conv(ctx, {.bias = 2, .channels_last = true}); }

void nhwc_max_pool_rule(Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, pool_shape(ctx, true)); }

std::optional<AxesMap> fused_matmul_axes(NodeView& view) {
  // An activation along an axis, such as a Softmax, may be along any.
  if (view.attr_int("transBatchA", 0) != 0 || view.attr_int("transBatchB", 0) != 0 ||
      view.has_attribute("activation_axis"))
    return std::nullopt;
  constexpr std::string_view kPatterns[2][2] = {{kProductAxes.pattern, "... i k, ... j k -> ... i j"},
                                                {"... k i, ... k j -> ... i j", "... k i, ... j k -> ... i j"}};
  return match_axes(kPatterns[view.attr_int("transA", 0) != 0][view.attr_int("transB", 0) != 0], view);
}

void batch_fused_matmul(BatchContext& n) { batch_product(n, {}); }

void batch_activated_matmul(BatchContext& n) {
  if (n.has_attribute("activation_axis")) BatchContext::refuse("its activation is along an axis");
  batch_product(n, {});
}

void batch_fused_gemm(BatchContext& n) { batch_gemm(n, true); }

}  // namespace

void add_microsoft_fused_product_ops(Registry& r) {
  using enum Role;
  r.add({"FusedMatMul", "TransposeMatMul"}, {.domain = kMicrosoft,
                                             .shape = fused_matmul_rule,
                                             .op_class = OpClass::kContraction,
                                             .operands = {kData, kWeight},
                                             .axes = axes_by(fused_matmul_axes),
                                             .batch = batch_with(batch_fused_matmul),
                                             .flops = flops_of_product,
                                             .standard = standard_fused_matmul});
  r.add({.domain = kMicrosoft,
         .name = "FusedMatMulActivation",
         .shape = fused_matmul_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight},
         .attributes = {{.name = "activation_axis", .role = kAxes}},
         .axes = axes_by(fused_matmul_axes),
         .batch = batch_with(batch_activated_matmul),
         .flops = flops_of_product});
  r.add({.domain = kMicrosoft,
         .name = "FusedGemm",
         .shape = microsoft_gemm_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias},
         .axes = axes_by(gemm_axes),
         .batch = batch_with(batch_fused_gemm),
         .flops = flops_of_product,
         .standard = standard_fused_gemm});
  r.add({.domain = kMicrosoft,
         .name = "GemmFloat8",
         .shape = gemm_float8_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kQuantScale},
         .axes = axes_by(gemm_axes),
         .flops = flops_of_product});
  r.add({.domain = kMicrosoft,
         .name = "GemmFastGelu",
         .shape = microsoft_matmul_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias},
         .axes = axes_by("... k, k j, j -> ... j"),
         .flops = flops_of_rows,
         .standard = standard_gemm_fast_gelu});
  r.add({.domain = kMicrosoft,
         .name = "FusedConv",
         .shape = fused_conv_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kData},
         .axes = axes_by("n c x~..., m _ _..., m, n m x~... -> n m x~..."),
         .flops = flops_of_filters,
         .standard = standard_fused_conv});
  r.add({"NhwcConv", "NhwcFusedConv"}, {.domain = kMicrosoft,
                                        .shape = nhwc_conv_rule,
                                        .op_class = OpClass::kContraction,
                                        .operands = {kData, kWeight, kBias, kData},
                                        .axes = axes_by("n x~... c, m _ _..., m, n x~... m -> n x~... m"),
                                        .flops = flops_of_filters});
  r.add({.domain = kMicrosoft,
         .name = "NhwcMaxPool",
         .shape = nhwc_max_pool_rule,
         .op_class = OpClass::kReduction,
         .axes = axes_by("n x~... c -> n x~... c")});
}

}  // namespace thaw::ops
