// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: the shape stays, the type changes.
#include "thaw/ops/onnx/quantization.h"

#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void quantize_rule(Context& ctx) {
  DataType to = data_type_from_attr(ctx.attr_int("output_dtype", 0));
  if (to == DataType::kUndefined) to = ctx.has_input(2) ? ctx.input(2).dtype : DataType::kUint8;
  shape_of_input(ctx, 0, 0, to);
  require_scales(ctx, 0, 1, 2);
}

void dequantize_rule(Context& ctx) {
  DataType to = data_type_from_attr(ctx.attr_int("output_dtype", 0));
  if (to == DataType::kUndefined) to = ctx.input(1).dtype;
  shape_of_input(ctx, 0, 0, to);
  require_scales(ctx, 0, 1, 2);
}

void dynamic_quantize_rule(Context& ctx) {
  shape_of_input(ctx, 0, 0, DataType::kUint8);
  ctx.set_tensor(1, DataType::kFloat, Shape{});
  ctx.set_tensor(2, DataType::kUint8, Shape{});
}

}  // namespace

void require_scales(Context& ctx, int x, int scale, int zero_point) {
  const Fact &data = ctx.input(x), &s = ctx.input(scale);
  // One number may stand as a scalar here and as a vector there.
  const Fact& z = ctx.input(zero_point);
  if (z.rank() > 0 && s.rank() == z.rank())
    require_same_shape(ctx, s.shape, ctx.input(zero_point).shape, "a scale and its zero point");
  if (!data.has_rank() || !s.has_rank() || s.rank() == 0) return;
  if (s.rank() == 1 && (s.dim(0).is_constant(1) || data.rank() <= 1)) return;  // one scale for all, in a vector
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 1), data.rank());
  if (!axis) return;
  int64_t block = ctx.attr_int("block_size", 0);
  if (s.rank() == 1 && block == 0) {
    ctx.require_broadcast(data.dim(*axis), s.dim(0), "one scale for each index of the quantized axis", {x, *axis},
                          {scale, 0});
    return;
  }
  if (s.rank() != data.rank()) {
    ctx.invalid("a scale of rank " + std::to_string(s.rank()) + " does not fit data of rank " +
                std::to_string(data.rank()));
    return;
  }
  if (block <= 0) return;
  for (int k = 0; k < data.rank(); ++k) {
    Dim want = k == *axis ? dim::ceil_div(data.dim(k), block) : data.dim(k);
    ctx.require_equal(want, s.dim(k), "scales of blocked quantization", {x, k}, {scale, k});
  }
}

void add_quantization_ops(Registry& r) {
  r.add({"", "QuantizeLinear", quantize_rule, OpClass::kOther});
  r.add({"", "DequantizeLinear", dequantize_rule, OpClass::kOther});
  r.add({"", "DynamicQuantizeLinear", dynamic_quantize_rule, OpClass::kOther});
}

}  // namespace thaw::ops
