// Batch rules of quantization where a scale or zero point may be a sample's own, and of Dropout.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

constexpr int64_t kPerAxisOpset = 13;  // QuantizeLinear takes a scale for each place of an axis

std::vector<int64_t> sample_axes(int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 1);
  return axes;
}

// Scales and zero points that are a sample's own, spread over the axes of what they scale: one number, or a list along
// an axis.
ir::Value* spread(NodeBatch& n, int i, int rank, int64_t axis) {
  std::vector<int64_t> axes = sample_axes(rank);
  if (n.rank(i) == 1 && !axes.empty()) axes.erase(axes.begin() + axis);
  return n.unsqueeze(n.leading(i), axes);
}

// (x - zero point) * scale
void dequantize_by_hand(NodeBatch& n, int rank, int64_t axis) {
  const ir::DataType type = n.fact(1).dtype;
  ir::Value* x = n.cast(n.leading(0), ir::DataType::kInt32);
  if (n.original(2)) x = n.emit("Sub", {x, n.cast(spread(n, 2, rank, axis), ir::DataType::kInt32)});
  n.become(0, n.emit("Mul", {n.cast(x, type), spread(n, 1, rank, axis)}), Form::kLeading);
}

// What an integer type holds; nullopt for one that quantization by hand does not know.
std::optional<std::pair<double, double>> limits_of(ir::DataType type) {
  switch (type) {
    case ir::DataType::kUint8:
      return std::pair(0.0, 255.0);
    case ir::DataType::kInt8:
      return std::pair(-128.0, 127.0);
    case ir::DataType::kUint16:
      return std::pair(0.0, 65535.0);
    case ir::DataType::kInt16:
      return std::pair(-32768.0, 32767.0);
    default:
      return std::nullopt;
  }
}

// round(x / scale) + zero point, as far as the type holds it.
ir::Value* quantized(Emitter& n, ir::Value* x, ir::Value* scale, ir::Value* point, ir::DataType type) {
  const auto limits = limits_of(type);
  if (!limits || n.opset() < 11) throw CannotBatch{"its scale differs from sample to sample"};
  constexpr ir::DataType kFloat = ir::DataType::kFloat;
  ir::Value* y = n.emit("Round", {n.emit("Div", {x, scale})});
  if (point) y = n.emit("Add", {y, n.cast(point, kFloat)});
  y = n.emit("Clip", {y, n.scalar(limits->first, kFloat), n.scalar(limits->second, kFloat)});
  return n.cast(y, type);
}

}  // namespace

void batch_quantize(NodeBatch& n, const ops::Batching& batching) {
  ir::Node& node = n.node();
  const int rank = n.rank(0), scale_rank = n.rank(1);
  const bool own_scale = n.is_batched(1) || n.is_batched(2);
  const int64_t axis = n.positive_axis(node.attribute_int("axis", batching.axis), rank);
  const auto operands = std::min(n.num_inputs(), 3);
  if (!own_scale && scale_rank == 0) return n.keep_on(n.form_of(0));
  if (!own_scale && scale_rank == 1 && n.is_merged(0) && axis != 0) return n.keep_on(Form::kMerged);
  const auto shift_axis = [&](int64_t by) {
    n.set_operand(0, n.leading(0));
    node.set_attribute({"axis", by});
    n.note_change();
    n.keep(Form::kLeading);
  };
  if (!own_scale && scale_rank == 1) return shift_axis(axis + 1);
  if (scale_rank == rank && rank > 0) {
    // In blocks: scales have the axes of what they scale.
    for (int i = 1; i < operands; ++i)
      if (n.original(i)) n.set_operand(i, n.leading(i));
    return shift_axis(axis + 1);
  }
  if (scale_rank == 0 && n.opset() >= kPerAxisOpset) {
    // One scale a sample is one for each place of the batch axis.
    for (int i = 1; i < operands; ++i)
      if (n.original(i)) n.set_operand(i, n.leading(i));
    return shift_axis(0);
  }
  const bool is_plain = node.domain().empty() && n.fact(1).dtype == ir::DataType::kFloat && scale_rank <= 1;
  if (is_plain && node.op_type() == "DequantizeLinear" && ir::is_integer(n.fact(0).dtype))
    return dequantize_by_hand(n, rank, axis);
  if (!is_plain || node.op_type() != "QuantizeLinear") NodeBatch::refuse("its scale differs from sample to sample");
  ir::Value* point = n.original(2) ? spread(n, 2, rank, axis) : nullptr;
  n.become(0, quantized(n, n.leading(0), spread(n, 1, rank, axis), point, n.output_fact(0).dtype), Form::kLeading);
}

void batch_dynamic_quantize(NodeBatch& n, const ops::Batching&) {
  constexpr ir::DataType kFloat = ir::DataType::kFloat;
  ir::Value* x = n.leading(0);
  const auto axes = sample_axes(n.rank(0));
  ir::Value *zero = n.scalar(0, kFloat), *most = n.scalar(255, kFloat);
  ir::Value* low = n.emit("Min", {n.reduce("ReduceMin", x, axes, false), zero});
  ir::Value* high = n.emit("Max", {n.reduce("ReduceMax", x, axes, false), zero});
  ir::Value* range = n.emit("Sub", {high, low});
  ir::Value* scale =
      n.emit("Where", {n.emit("Equal", {range, zero}), n.scalar(1, kFloat), n.emit("Div", {range, most})});
  ir::Value* point = n.emit("Sub", {zero, n.emit("Div", {low, scale})});
  point = n.emit("Round", {n.emit("Clip", {point, zero, most})});
  point = n.cast(point, ir::DataType::kUint8);
  ir::Value* y = n.opset() >= kPerAxisOpset
                     ? n.emit("QuantizeLinear", {x, scale, point}, {{"axis", int64_t{0}}})
                     : quantized(n, x, n.unsqueeze(scale, axes), n.unsqueeze(point, axes), ir::DataType::kUint8);
  n.become(0, y, Form::kLeading);
  n.become(1, scale, Form::kLeading);
  n.become(2, point, Form::kLeading);
}

void batch_conv_integer(NodeBatch& n, const ops::Batching& batching) {
  if (!n.is_batched(2)) return batch_first(n, {.operands = "bss"});
  if (n.is_batched(1) || n.is_batched(3)) NodeBatch::refuse("its weights differ from sample to sample");
  if (n.rank(2) != 0) NodeBatch::refuse("its zero point is not one number");
  (void)batching;
  // Without a zero point, less the zero point times the same convolution of ones, which minds the padding.
  ir::Node& node = n.node();
  ir::Value* x = n.leading(0);
  ir::Value* both = n.slice(n.shape(x), 0, 2);
  const auto convolve = [&](ir::Value* data) {
    ir::Value* y = n.emit("ConvInteger", {data, n.original(1), nullptr, n.original(3)});
    for (const ir::Attribute& attribute : node.attributes()) y->producer()->set_attribute(attribute);
    return y;
  };
  ir::Value* one_image = n.concat({n.ints({1}), n.slice(n.shape(x), 2)}, 0);
  ir::Value* ones = n.emit("Expand", {n.cast(n.integer(1), n.fact(0).dtype), one_image});
  ir::Value* y = n.parted(convolve(n.joined(x)), both);
  ir::Value* point = n.unsqueeze(n.cast(n.leading(2), ir::DataType::kInt32), sample_axes(n.rank(0)));
  n.become(0, n.emit("Sub", {y, n.emit("Mul", {point, convolve(ones)})}), Form::kLeading);
}

void batch_dropout(NodeBatch& n, const ops::Batching&) {
  bool trains = n.original(2) != nullptr;
  if (const auto mode = n.constant_ints(2)) trains = mode->empty() || mode->front() != 0;
  if (trains) NodeBatch::refuse("it may be in training mode, in which it draws random numbers");
  if (n.is_batched(0)) n.keep_on(n.form_of(0));
}

}  // namespace thaw::batch
