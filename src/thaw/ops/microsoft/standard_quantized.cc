// Quantized operators of com.microsoft in ONNX's: what they compute between DequantizeLinear and QuantizeLinear.
#include <string>

#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/rule/batch.h"

namespace thaw::ops {
namespace {

using ir::DataType;
using ir::Value;

constexpr int64_t kFirstWithChannels = 13, kFirstWith16Bits = 21;

bool is_byte(DataType type) { return type == DataType::kInt8 || type == DataType::kUint8; }

void require_bytes(const AdapterContext& n, int operand) {
  if (!is_byte(n.input(operand).dtype)) throw NoEqual{"it is not of 8 bits, or its type is not known"};
  if (n.input(operand + 1).dtype != DataType::kFloat) throw NoEqual{"its scale is not of float32"};
}

// Operands i, i + 1 and i + 2: codes, scale and zero point.
Value* numbers(AdapterContext& n, int i) {
  require_bytes(n, i);
  std::vector<Value*> inputs = {n.changing().input(i), n.changing().input(i + 1)};
  if (n.has_input(i + 2)) inputs.push_back(n.changing().input(i + 2));
  return n.at().emit("DequantizeLinear", std::move(inputs));
}

// Operands i and i + 1: scale and zero point of codes of that type.
Value* codes(AdapterContext& n, Value* x, int i, DataType type) {
  Value* zero = n.changing().input(i + 1);
  if (!zero) zero = n.at().cast(n.at().integer(0), type);
  return n.at().emit("QuantizeLinear", {x, n.changing().input(i), zero});
}

}  // namespace

// The same as ONNX's of a newer opset: 16 bits came with 21, channels with 13.
void standard_quantize(AdapterContext& n) {
  const bool quantizes = n.node().op_type() == "QuantizeLinear";
  const int64_t opset = n.at().writer().opset();
  const Fact& scale = n.input(1);
  const DataType type = !quantizes ? n.input(0).dtype : n.has_input(2) ? n.input(2).dtype : DataType::kUint8;
  if (!is_byte(type) && type != DataType::kInt32 && opset < kFirstWith16Bits)
    throw NoEqual{"codes of that type came with opset 21"};
  if (!scale.has_rank() || scale.dtype != DataType::kFloat) throw NoEqual{"its scale is not known to be of float32"};
  std::vector<Value*> inputs = {n.changing().input(0), n.changing().input(1)};
  if (n.has_input(2)) inputs.push_back(n.changing().input(2));
  Attributes attributes;
  if (scale.rank() > 0) {
    if (opset < kFirstWithChannels) throw NoEqual{"scales of channels came with opset 13"};
    attributes.push_back({"axis", n.attr_int("axis", 1)});
  }
  n.become(0, n.at().emit(n.node().op_type(), std::move(inputs), std::move(attributes)));
}

// One operand or two, then scale and zero point of the result.
void standard_qlinear_elementwise(AdapterContext& n) {
  const std::string& name = n.node().op_type();
  const std::string op = name.substr(std::string_view("QLinear").size());
  const bool is_binary = n.num_inputs() > 5;
  std::vector<Value*> inputs = {numbers(n, 0)};
  if (is_binary) inputs.push_back(numbers(n, 3));
  Attributes attributes;
  if (const ir::Attribute* alpha = n.attribute("alpha")) attributes.push_back(*alpha);
  Value* result = n.at().emit(op, std::move(inputs), std::move(attributes));
  n.become(0, codes(n, result, is_binary ? 6 : 3, n.input(0).dtype));
}

void standard_qlinear_where(AdapterContext& n) {
  Value* chosen = n.at().emit("Where", {n.changing().input(0), numbers(n, 1), numbers(n, 4)});
  n.become(0, codes(n, chosen, 7, n.input(1).dtype));
}

// AveragePool and GlobalAveragePool.
void standard_qlinear_pool(AdapterContext& n) {
  if (n.attr_int("channels_last", 0) != 0) throw NoEqual{"its channels stand last"};
  Attributes attributes;
  for (const ir::Attribute& attribute : n.node().attributes())
    if (attribute.name != "channels_last") attributes.push_back(attribute);
  const std::string op = n.node().op_type().substr(std::string_view("QLinear").size());
  n.become(0, codes(n, n.at().emit(op, {numbers(n, 0)}, std::move(attributes)), 3, n.input(0).dtype));
}

void standard_qlinear_concat(AdapterContext& n) {
  std::vector<Value*> parts;
  for (int i = 2; i + 1 < n.num_inputs(); i += 3) parts.push_back(numbers(n, i));
  if (parts.empty()) throw NoEqual{"it joins nothing"};
  n.become(0, codes(n, n.at().emit("Concat", parts, {{"axis", n.attr_int("axis", 0)}}), 0, n.input(2).dtype));
}

// Integers, then both scales, then a bias.
void standard_integer_product(AdapterContext& n) {
  const Emit& at = n.at();
  ir::Node& node = n.changing();
  const DataType type = floating_type(n, 2);
  std::vector<Value*> inputs = {node.input(0), node.input(1), node.input(4), node.input(5)};
  while (!inputs.back()) inputs.pop_back();
  Value* result = at.cast(at.emit("MatMulInteger", std::move(inputs)), type);
  result = at.mul(result, at.mul(node.input(2), node.input(3)));
  n.become(0, n.has_input(6) ? at.add(result, node.input(6)) : result);
}

}  // namespace thaw::ops
