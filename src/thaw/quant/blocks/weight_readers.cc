#include "thaw/quant/blocks/weight_readers.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/ir/graph/location.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"

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

bool has_numbers(const ir::Value* value) {
  return value && value->constant() && ir::is_floating(value->constant()->data_type);
}

bool is_replaceable(const ir::Value* value) { return has_numbers(value) && value->is_input(); }

std::string why_no_weight(const ir::Tensor& weight) {
  std::string why = why_no_axes(weight);
  return why.empty() ? fmt::format("its weight is {}", ir::name_of(weight.data_type)) : why;
}

std::string why_no_product(const ir::Value* x, const ir::Value* weight) {
  if (is_replaceable(weight)) return std::string(kReplaceableWeight);
  if (has_numbers(weight)) return why_no_weight(*weight->constant());
  if (has_numbers(x)) return "its weight is the left operand";
  if (std::string why = why_computed(weight); !why.empty()) return why;
  return "both of its operands are computed";
}

std::string why_no_lookup(const ir::Node& node, const ir::Value* table) {
  if (is_replaceable(table)) return std::string(kReplaceableWeight);
  if (table->constant()->dims.size() < 2) return {};  // single numbers
  if (!ops::looks_up_rows(node)) return fmt::format("it looks up along axis {}", node.attribute_int("axis", 0));
  return why_no_weight(*table->constant());
}

}  // namespace

std::optional<StoredWeight> weight_of(const ir::Node& node) {
  if (ops::looks_up_rows(node)) {
    auto table = matrix(node.input(0));
    if (!table || table->transposed) return std::nullopt;
    table->transposed = true;
    return table;
  }
  const auto product = ops::weight_product(node);
  auto weight = product ? matrix(node.input(product->weight)) : std::nullopt;
  if (weight) weight->transposed = weight->transposed != product->weight_is_transposed;
  return weight;
}

ir::Value* summed_input(const ir::Node& node) {
  const auto product = ops::weight_product(node);
  return product && is_candidate(node) ? node.input(product->x) : nullptr;
}

std::string why_no_candidate(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  if (!op) return {};
  if (const auto product = ops::weight_product(node))
    return why_no_product(node.input(product->x), node.input(product->weight));
  if (op->op_class == ops::OpClass::kContraction) {
    const bool has_weights = std::ranges::any_of(node.inputs(), [](const ir::Value* input) {
      return has_numbers(input) && input->constant()->dims.size() >= 2;
    });
    return has_weights ? fmt::format("block-wise quantization is for MatMul, Gemm and Gather, not for {}",
                                     ir::operator_name(node))
                       : std::string();
  }
  const ir::Value* table = op->operands.find(ops::Role::kIndex) == 1 ? node.input(0) : nullptr;
  return has_numbers(table) ? why_no_lookup(node, table) : std::string();
}

}  // namespace thaw::quantizing::blocks
