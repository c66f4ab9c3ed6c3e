#include "thaw/quant/blocks/weight_nodes.h"

#include "thaw/ops/onnx/constant_operand.h"

namespace thaw::quantizing::blocks {
namespace {

bool is_float(ir::DataType type) {
  return type == ir::DataType::kFloat || type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16;
}

// Matrices or stacks of them.
std::optional<StoredWeight> matrix(const ir::Value* operand) {
  const auto stored = stored_weight(operand);
  return stored && stored->tensor->dims.size() >= 2 && is_float(stored->tensor->data_type) ? stored : std::nullopt;
}

}  // namespace

std::optional<StoredWeight> weight_of(const ir::Node& node) {
  if (ops::looks_up_rows(node)) {
    auto table = matrix(node.input(0));
    if (!table || table->turned) return std::nullopt;
    table->turned = true;
    return table;
  }
  const auto product = ops::weight_product(node);
  auto weight = product ? matrix(node.input(product->weight)) : std::nullopt;
  if (weight) weight->turned = weight->turned != product->weight_is_turned;
  return weight;
}

ir::Value* summed_input(const ir::Node& node) {
  const auto product = ops::weight_product(node);
  return product && is_candidate(node) ? node.input(product->x) : nullptr;
}

}  // namespace thaw::quantizing::blocks
