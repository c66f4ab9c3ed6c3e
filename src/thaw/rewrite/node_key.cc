#include "thaw/rewrite/node_key.h"

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "thaw/ir/graph/key_parts.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::rewrite {
namespace {

using ir::append_list, ir::append_raw, ir::append_text;

constexpr uint64_t kMostBytes = 1024;  // of a tensor in an attribute that is compared

}  // namespace

void append_address(std::string& key, const ir::Value* operand) { append_raw(key, std::bit_cast<uintptr_t>(operand)); }

bool append_tensor(std::string& key, const ir::Tensor& tensor) {
  if (tensor.data_type == ir::DataType::kString || tensor.num_bytes() > kMostBytes) return false;
  append_raw(key, tensor.data_type);
  append_list(key, tensor.dims);
  const auto bytes = tensor.bytes();
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return true;
}

std::string key_of(const ir::Node& node, const OperandKey& append_operand) {
  const ops::Operator* op = ops::registry().find(node);
  if (!op || !op->deterministic || op->op_class == ops::OpClass::kControl || !node.overload().empty()) return {};
  std::string key;
  append_text(key, node.op_type());
  append_text(key, node.domain());
  auto inputs = node.inputs();
  while (!inputs.empty() && !inputs.back()) inputs = inputs.first(inputs.size() - 1);
  append_raw(key, inputs.size());
  std::vector<std::string> operands;
  for (const ir::Value* input : inputs) append_operand(operands.emplace_back(), input);
  if (op->commutes && operands.size() == 2 && operands[1] < operands[0]) std::swap(operands[0], operands[1]);
  for (const std::string& operand : operands) append_text(key, operand);
  append_raw(key, node.outputs().size());
  for (const ir::Attribute* attribute : ir::attributes_by_name(node)) {
    append_text(key, attribute->name);
    if (!attribute->ref_attr_name.empty() || !ir::append_payload(key, *attribute, append_tensor)) return {};
  }
  return key;
}

}  // namespace thaw::rewrite
