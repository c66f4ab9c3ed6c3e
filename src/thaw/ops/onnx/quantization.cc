// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: the shape stays, the type changes.
#include "thaw/ops/onnx/quantization.h"

#include <algorithm>
#include <string>

#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
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

constexpr int64_t kPerAxisOpset = 13;  // QuantizeLinear takes a scale for each position of an axis

// Scales and zero points that are a sample's own, spread over the axes of what they scale: one number, or a list along
// an axis.
ir::Value* spread(BatchContext& n, int i, int rank, int64_t axis) {
  std::vector<int64_t> axes = BatchContext::axes_of_sample(rank);
  if (n.rank(i) == 1 && !axes.empty()) axes.erase(axes.begin() + axis);
  return n.unsqueeze(n.leading(i), axes);
}

// What an integer type holds; nullopt for one that quantization by hand does not know.
std::optional<std::pair<double, double>> limits_of(DataType type) {
  switch (type) {
    case DataType::kUint8:
      return std::pair(0.0, 255.0);
    case DataType::kInt8:
      return std::pair(-128.0, 127.0);
    case DataType::kUint16:
      return std::pair(0.0, 65535.0);
    case DataType::kInt16:
      return std::pair(-32768.0, 32767.0);
    default:
      return std::nullopt;
  }
}

[[noreturn]] void refuse_own_scale() { BatchContext::refuse("its scale differs from sample to sample"); }

// round(x / scale) + zero point, as far as the type holds it.
ir::Value* quantized(BatchContext& n, ir::Value* x, ir::Value* scale, ir::Value* point, DataType type) {
  const auto limits = limits_of(type);
  if (!limits) refuse_own_scale();
  ir::Value* y = n.emit("Round", {n.div(x, scale)});
  if (point) y = n.add(y, n.cast(point, DataType::kFloat));
  y = n.emit("Clip", {y, n.scalar(limits->first, DataType::kFloat), n.scalar(limits->second, DataType::kFloat)});
  return n.cast(y, type);
}

// (x - zero point) * scale
ir::Value* dequantized(BatchContext& n, ir::Value* x, ir::Value* scale, ir::Value* point) {
  ir::Value* y = n.cast(x, DataType::kInt32);
  if (point) y = n.sub(y, n.cast(point, DataType::kInt32));
  return n.mul(n.cast(y, DataType::kFloat), scale);
}

// With scales of a sample's own that no operand of the operator can be.
void batch_by_hand(BatchContext& n, int64_t axis) {
  const int rank = n.rank(0);
  const DataType from = n.input(0).dtype, to = n.output(0).dtype;
  const bool dequantizes = ir::is_integer(from) && to == DataType::kFloat;
  if (n.input(1).dtype != DataType::kFloat || n.rank(1) > 1 || (!dequantizes && from != DataType::kFloat))
    refuse_own_scale();
  ir::Value *x = n.leading(0), *scale = spread(n, 1, rank, axis);
  ir::Value* point = n.original(2) ? spread(n, 2, rank, axis) : nullptr;
  n.become(0, dequantizes ? dequantized(n, x, scale, point) : quantized(n, x, scale, point, to), Form::kLeading);
}

// The axis that scales lie along; of a vector, its only one.
int64_t quantized_axis(const NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank <= 1) return 0;
  return std::clamp<int64_t>(BatchContext::positive(view.attr_int("axis", 1), rank), 0, rank - 1);
}

// Scales have the axes of what they scale, one for each block of positions of the quantized one.
bool is_in_blocks(const NodeView& view) {
  const int rank = view.input(0).rank();
  return view.input(1).rank() == rank && (rank > 1 || (rank == 1 && view.attr_int("block_size", 0) != 0));
}

// Before opset 21 there is no scale for each block: the blocks become an axis, and the arithmetic is written out. It is done in
// float32 on integers that float32 holds, as the operator does it.
void older_dequantize(AdapterContext& n) {
  const int64_t block = n.attr_int("block_size", 0);
  if (!n.crosses(21) || block <= 0) return;
  const Fact &x = n.input(0), &scale = n.input(1);
  const auto axis = x.has_rank() ? std::optional(quantized_axis(n)) : std::nullopt;
  const auto length = axis && x.rank() > 0 ? x.dim(static_cast<int>(*axis)).constant() : std::nullopt;
  if (!length || *length % block != 0) throw NoEqual{"its axis is not known to be of whole blocks"};
  if (limits_of(x.dtype) == std::nullopt) throw NoEqual{"its integers are not of 8 or 16 bits"};
  if (!ir::is_floating(scale.dtype) || scale.rank() != x.rank())
    throw NoEqual{"the type or rank of its scales is not known"};
  const Emit& at = n.at();
  std::vector<int64_t> apart, whole;
  int unknown = 0;
  for (int k = 0; k < x.rank(); ++k) {
    const int64_t size = k < *axis ? 0 : x.dim(k).constant().value_or(-1);
    unknown += size < 0 ? 1 : 0;
    whole.push_back(size);
    if (k != *axis) apart.push_back(size);
    if (k == *axis) apart.insert(apart.end(), {*length / block, block});
  }
  if (unknown > 1) throw NoEqual{"the sizes behind its axis are not known"};
  const auto as_float = [&](ir::Value* value, DataType type) {
    return type == DataType::kFloat ? value : at.cast(value, DataType::kFloat);
  };
  ir::Value* number = at.cast(at.reshape(n.changing().input(0), at.list(apart)), DataType::kFloat);
  if (n.has_input(2))
    number = at.sub(number, at.cast(at.unsqueeze(n.changing().input(2), {*axis + 1}), DataType::kFloat));
  ir::Value* factor = as_float(at.unsqueeze(n.changing().input(1), {*axis + 1}), scale.dtype);
  ir::Value* result = at.reshape(at.mul(number, factor), at.list(whole));
  const DataType to = n.output(0).dtype == DataType::kUndefined ? scale.dtype : n.output(0).dtype;
  n.become(0, to == DataType::kFloat ? result : at.cast(result, to));
}

// A scale for each sample.
void batch_dynamic_quantize(BatchContext& n) {
  constexpr DataType kFloat = DataType::kFloat;
  ir::Value* x = n.leading(0);
  const auto axes = BatchContext::axes_of_sample(n.rank(0));
  ir::Value *zero = n.scalar(0, kFloat), *most = n.scalar(255, kFloat);
  ir::Value* low = n.emit("Min", {n.reduce("ReduceMin", x, axes, false), zero});
  ir::Value* high = n.emit("Max", {n.reduce("ReduceMax", x, axes, false), zero});
  ir::Value* range = n.sub(high, low);
  ir::Value* scale = n.emit("Where", {n.emit("Equal", {range, zero}), n.scalar(1, kFloat), n.div(range, most)});
  ir::Value* point = n.emit("Round", {n.emit("Clip", {n.sub(zero, n.div(low, scale)), zero, most})});
  point = n.cast(point, DataType::kUint8);
  ir::Value* y = n.opset() >= kPerAxisOpset
                     ? n.emit("QuantizeLinear", {x, scale, point}, {{"axis", int64_t{0}}})
                     : quantized(n, x, n.unsqueeze(scale, axes), n.unsqueeze(point, axes), DataType::kUint8);
  n.become(0, y, Form::kLeading);
  n.become(1, scale, Form::kLeading);
  n.become(2, point, Form::kLeading);
}

}  // namespace

void require_scales(Context& ctx, int x, int scale, int zero_point) {
  const Fact &data = ctx.input(x), &s = ctx.input(scale);
  // One number may stand as a scalar here and as a vector there.
  const Fact& z = ctx.input(zero_point);
  if (z.rank() > 0 && s.rank() == z.rank())
    require_same_shape(ctx, s.shape, ctx.input(zero_point).shape, "a scale and its zero point");
  if (!data.has_rank() || !s.has_rank() || s.rank() == 0) return;
  if (s.rank() == 1 && (s.dim(0).is_constant(1) || data.rank() == 0)) return;  // one scale for all, in a vector
  if (s.rank() == 1 && data.rank() == 1) {
    // The axis can only be this one, whatever the attribute says.
    ctx.require_broadcast(data.dim(0), s.dim(0), "one scale for each element", {x, 0}, {scale, 0});
    return;
  }
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

std::optional<AxesMap> quantize_axes(NodeView& view) {
  const int rank = view.input(0).rank(), scale_rank = view.input(1).rank();
  if (rank < 0 || scale_rank < 0) return std::nullopt;
  const int64_t axis = quantized_axis(view);
  const bool in_blocks = is_in_blocks(view);
  AxesMap map;
  for (int k = 0; k < rank; ++k) {
    std::vector<OperandAxis> from{{0, k}};
    const bool has_scales = in_blocks ? k != axis : k == axis && scale_rank == 1;
    for (int i = 1; has_scales && i <= 2; ++i)
      if (view.has_input(i)) from.push_back({i, in_blocks ? k : 0});
    map.keep(std::move(from), {{0, k}});
  }
  return map;
}

void batch_quantize(BatchContext& n) {
  n.rank(0);  // must be known
  const int scale_rank = n.rank(1);
  const bool own_scale = n.is_batched(1) || n.is_batched(2), in_blocks = is_in_blocks(n);
  const int64_t axis = quantized_axis(n);
  if (!own_scale && scale_rank == 0) return n.keep_on(n.form_of(0));
  if (!own_scale && scale_rank == 1 && n.is_merged(0) && axis != 0) return n.keep_on(Form::kMerged);
  // One scale a sample is one for each position of the batch axis.
  const bool one_each = scale_rank == 0 && n.writer().opset() >= kPerAxisOpset;
  const bool takes_own_scale = in_blocks || one_each;
  if (own_scale && !takes_own_scale) return batch_by_hand(n, axis);
  for (int i = 1; takes_own_scale && i <= 2; ++i)
    if (n.original(i)) n.set_operand(i, n.leading(i));
  n.set_operand(0, n.leading(0));
  n.set_attribute({"axis", one_each ? int64_t{0} : axis + 1});
  n.note_change();
  n.keep(Form::kLeading);
}

void add_quantization_ops(Registry& r) {
  using enum Role;
  const auto add_op = [&](std::string_view name, ShapeRule shape, Evaluation evaluation, AdapterRule older) {
    r.add({.name = name,
           .shape = shape,
           .operands = {kData, kQuantScale, kZeroPoint},
           .attributes = {{"axis", kAxes, 1, 13}},
           .axes = axes_by(quantize_axes),
           .batch = batch_with(batch_quantize),
           .older = older,
           .evaluation = evaluation});
  };
  add_op("QuantizeLinear", quantize_rule, Evaluation::kByRunning, nullptr);
  // Constants are codes on purpose: as numbers they take up more, and kernels of few bits look for this node.
  add_op("DequantizeLinear", dequantize_rule, Evaluation::kNever, older_dequantize);
  // Every element counts for the scale.
  r.add({.name = "DynamicQuantizeLinear",
         .shape = dynamic_quantize_rule,
         .axes = axes_by("x~... -> x~..."),
         .batch = batch_with(batch_dynamic_quantize)});
}

}  // namespace thaw::ops
