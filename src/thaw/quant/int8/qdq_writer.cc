#include "thaw/quant/int8/qdq_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/quant/samples/memo_cache.h"

namespace thaw::quantizing::int8 {
namespace {

using ir::DataType;

ir::Tensor scalar_of(std::string name, DataType type, int code) {
  return ir::Tensor::from_bytes(std::move(name), type, {}, {static_cast<std::byte>(code)});
}

}  // namespace

ir::Value* QdqWriter::add_node(std::string_view op, std::vector<ir::Value*> inputs, const std::string& name,
                               ir::Graph& graph, ir::Node* before) {
  ir::Value* result = graph.add_value(graph.unique_name(name));
  graph.add_node(std::string(op), "", std::move(inputs), {result}, result->name(), before);
  return result;
}

ir::Value* QdqWriter::dequantize(ir::Value* codes, ir::Value* scale, ir::Value* zero, int axis, const std::string& name,
                                 ir::Graph& graph, ir::Node* before) {
  std::vector<ir::Value*> operands{codes, scale};
  if (zero) operands.push_back(zero);
  ir::Value* result = add_node(ops::kDequantize, std::move(operands), name, graph, before);
  if (axis >= 0) result->producer()->set_attribute({.name = "axis", .value = static_cast<int64_t>(axis)});
  return result;
}

void QdqWriter::set_scale(ir::Value* of, const Affine& affine, const Codes& codes) {
  if (scales_.contains(of)) return;
  scales_[of] = {
      graph_.add_initializer(
          ir::Tensor::from_float(graph_.unique_name(of->name() + "_scale"), {}, std::vector<float>{affine.scale})),
      graph_.add_initializer(scalar_of(graph_.unique_name(of->name() + "_zero_point"), codes.type, affine.zero))};
}

void QdqWriter::put_pair(const QuantizedTensor& tensor) {
  ir::Value* value = tensor.value;
  ir::Graph& graph = *value->graph();
  const Parameters& with = scales_.at(tensor.scale_of);
  const std::vector<ir::Use> all(value->uses().begin(), value->uses().end());
  ir::Node* before = value->producer() ? graph.next(value->producer()) : graph.nodes().front();
  ir::Value* codes =
      add_node(ops::kQuantize, {value, with.scale, with.zero}, value->name() + "_quantized", graph, before);
  ir::Value* numbers = dequantize(codes, with.scale, with.zero, -1, value->name() + "_dequantized", graph, before);
  std::unordered_map<const ir::Graph*, ir::Value*> numbers_of{{&graph, numbers}};
  const auto put = [&](const ir::Use& use) {
    ir::Graph& inner = *use.node->graph();  // kernels want DequantizeLinear beside them
    ir::Value*& here = numbers_of[&inner];
    if (!here)
      here = dequantize(codes, with.scale, with.zero, -1, value->name() + "_dequantized", inner, inner.nodes().front());
    use.node->set_input(use.index, here);
  };
  for (const ir::Use& use : tensor.for_all ? all : tensor.readers) put(use);
  if (!tensor.for_all) return;
  for (ir::Graph* inner : graph.returned_by(value))
    for (size_t i = 0; i < inner->outputs().size(); ++i)
      if (inner->outputs()[i] == value) inner->set_output(static_cast<int>(i), numbers);
  if (!value->is_output()) return;
  const std::string name = value->name();
  const ir::Type type = value->type;
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.outputs()[i] == value) graph.set_output(static_cast<int>(i), numbers);
  if (type.kind != ir::Type::Kind::kNone) numbers->set_type(type);
  graph.rename(value, graph.unique_name(name + "_float"));
  graph.rename(numbers, name);
}

QdqWriter::CodedConstants& QdqWriter::constants_of(ir::Value* weight, const WeightScales& scales) {
  CodedConstants& made =
      weights_[{weight, scales.channels.axis, static_cast<int>(scales.codes.type), scales.codes.lowest}];
  if (made.codes) return made;
  const std::string& name = weight->name();
  MemoKey key("8-bit quantized values", *weight->constant());
  key.add(scales.channels.axis)
      .add(scales.codes.type)
      .add(scales.codes.lowest)
      .add(std::as_bytes(std::span(scales.affine)));
  const std::vector<ir::Tensor> tensors = memoized(known_, key, [&] {
    return std::vector{coded(*weight->constant(), {}, scales), scale_tensor(scales, {}), zero_point_tensor(scales, {})};
  });
  const auto add = [&](ir::Tensor tensor, const char* ending) {
    tensor.name = graph_.unique_name(name + ending);
    return graph_.add_initializer(std::move(tensor));
  };
  made.codes = add(tensors[0], "_quantized");
  made.scale = add(tensors[1], "_scale");
  made.zero = add(tensors[2], "_zero_point");
  return made;
}

ir::Value* QdqWriter::transposed(CodedConstants& constants, const std::string& name) {
  if (!constants.transposed) {
    constants.transposed =
        add_node("Transpose", {constants.codes}, name + "_transposed", graph_, graph_.nodes().front());
    constants.transposed->producer()->set_attribute({.name = "perm", .value = std::vector<int64_t>{1, 0}});
  }
  return constants.transposed;
}

void QdqWriter::put_weight(ir::Node& node, const WeightOperand& weight, const WeightScales& scales,
                           bool has_coded_data) {
  CodedConstants& made = constants_of(weight.value, scales);
  ir::Graph& graph = has_coded_data ? *node.graph() : graph_;
  ir::Value*& numbers = made.decoded[{&graph, weight.behind_transpose}];
  if (!numbers) {
    // Behind the last node that reads nothing, so that all that may come to read it stands behind.
    ir::Node* before = graph.nodes().front();
    ir::Value* codes = made.codes;
    int axis = scales.channels.axis;
    if (weight.behind_transpose) {
      // Codes are transposed, not numbers: kernels want DequantizeLinear right before them.
      codes = transposed(made, weight.value->name());
      if (axis >= 0) axis = 1 - axis;
    }
    numbers = dequantize(codes, made.scale, made.zero, axis, weight.value->name() + "_dequantized", graph, before);
  }
  node.set_input(weight.input, numbers);
}

void QdqWriter::put_bias(const WeightedNode& weighted, float data_scale, const WeightScales& weight) {
  ir::Node& node = *weighted.node;
  const ir::Value* bias = weighted.bias_value;
  const ir::Tensor& tensor = *bias->constant();
  std::vector<float> scales;
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.num_elements()) * sizeof(int32_t));
  for_chunks(tensor, [&](int64_t first, std::span<const float> numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto channel = static_cast<size_t>(first) + i;
      const float scale = data_scale * weight.affine[weight.channels.axis < 0 ? 0 : channel].scale;
      scales.push_back(scale);
      const double code = std::nearbyint(static_cast<double>(numbers[i]) / static_cast<double>(scale));
      const auto rounded = static_cast<int32_t>(std::clamp<double>(code, INT32_MIN, INT32_MAX));
      std::memcpy(bytes.data() + channel * sizeof rounded, &rounded, sizeof rounded);
    }
  });
  const std::string name = bias->name();
  ir::Value* codes = graph_.add_initializer(
      ir::Tensor::from_bytes(graph_.unique_name(name + "_quantized"), DataType::kInt32, tensor.dims, std::move(bytes)));
  const bool one_for_all = weight.channels.axis < 0;
  ir::Value* scale = graph_.add_initializer(
      ir::Tensor::from_float(graph_.unique_name(name + "_scale"), one_for_all ? std::vector<int64_t>{} : tensor.dims,
                             one_for_all ? std::vector<float>{scales.empty() ? 1 : scales.front()} : scales));
  node.set_input(weighted.bias,
                 dequantize(codes, scale, nullptr, one_for_all ? -1 : 0, name + "_dequantized", *node.graph(), &node));
}

ir::Value* QdqWriter::of_channels(const ir::Value* table, const WeightScales& scales, std::vector<float> numbers,
                                  ir::Value* indices, ir::Node& node, const char* what) {
  // Along the channels' axis, and one position along each behind it: as rows are broadcast.
  const int axis = scales.channels.axis;
  std::vector<int64_t> dims;
  if (axis >= 0) dims.assign(table->constant()->dims.size() - static_cast<size_t>(axis), 1);
  if (axis >= 0) dims.front() = scales.channels.count;
  ir::Value* all =
      graph_.add_initializer(ir::Tensor::from_float(graph_.unique_name(table->name() + "_row" + what), dims, numbers));
  return axis == 0 ? add_node("Gather", {all, indices}, node.output(0)->name() + what, *node.graph(), &node) : all;
}

void QdqWriter::put_rows(const Lookup& lookup, const WeightScales& scales) {
  ir::Node& node = *lookup.node;
  ir::Value *table = lookup.table.value, *indices = node.input(1), *old = node.output(0);
  ir::Graph& graph = *node.graph();
  CodedConstants& made = constants_of(table, scales);
  std::vector<float> numbers, zeros;
  for (const Affine& affine : scales.affine) {
    numbers.push_back(affine.scale);
    zeros.push_back(static_cast<float>(affine.zero));
  }
  const std::string& name = old->name();
  ir::Value* codes = add_node("Gather", {made.codes, indices}, name + "_codes", graph, &node);
  ir::Value* scale = of_channels(table, scales, std::move(numbers), indices, node, "_scales");
  ir::Value* cast = add_node("Cast", {codes}, name + "_numbers", graph, &node);
  cast->producer()->set_attribute({.name = "to", .value = static_cast<int64_t>(DataType::kFloat)});
  if (std::ranges::any_of(zeros, [](float zero) { return zero != 0; })) {
    ir::Value* zero = of_channels(table, scales, std::move(zeros), indices, node, "_zeros");
    cast = add_node("Sub", {cast, zero}, name + "_centered", graph, &node);
  }
  graph.release_output(&node, 0);
  if (lookup.table.type == DataType::kFloat) {
    graph.add_node("Mul", "", {cast, scale}, {old}, node.name, &node);
  } else {
    ir::Value* wide = add_node("Mul", {cast, scale}, name + "_wide", graph, &node);
    ir::Node* narrow = graph.add_node("Cast", "", {wide}, {old}, node.name, &node);
    narrow->set_attribute({.name = "to", .value = static_cast<int64_t>(lookup.table.type)});
  }
  graph.remove_node(&node);
}

}  // namespace thaw::quantizing::int8
