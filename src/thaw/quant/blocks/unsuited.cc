#include "thaw/quant/blocks/unsuited.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "thaw/ir/graph/place.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::quantizing::blocks {
namespace {

bool has_numbers(const ir::Value* value) {
  return value && value->constant() && ir::is_floating(value->constant()->data_type);
}

bool is_replaceable(const ir::Value* value) { return has_numbers(value) && value->is_input(); }

constexpr std::string_view kReplaceable = "its weight is an input too, which a caller may replace";

std::string why_no_weight(const ir::Tensor& weight) {
  if (weight.dims.size() < 2) return weight.dims.empty() ? "its weight is one number" : "its weight is a vector";
  return fmt::format("its weight is {}", ir::name_of(weight.data_type));
}

std::string why_no_product(const ir::Value* x, const ir::Value* weight) {
  if (is_replaceable(weight)) return std::string(kReplaceable);
  if (has_numbers(weight)) return why_no_weight(*weight->constant());
  if (has_numbers(x)) return "its weight stands on the left of the product";
  const ir::Node* before = weight ? weight->producer() : nullptr;
  const bool is_made_of_constants =
      before && !before->inputs().empty() &&
      std::ranges::all_of(before->inputs(), [](const ir::Value* input) { return !input || input->constant(); });
  if (is_made_of_constants) return fmt::format("its weight comes out of a {}, and is no constant", before->op_type());
  return "both of its operands are computed";
}

std::string why_no_lookup(const ir::Node& node, const ir::Value* table) {
  if (is_replaceable(table)) return std::string(kReplaceable);
  if (table->constant()->dims.size() < 2) return {};  // single numbers
  if (!ops::looks_up_rows(node)) return fmt::format("it looks up along axis {}", node.attribute_int("axis", 0));
  return why_no_weight(*table->constant());
}

}  // namespace

std::string why_no_candidate(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  if (!op) return {};
  if (const auto product = ops::weight_product(node))
    return why_no_product(node.input(product->x), node.input(product->weight));
  if (op->op_class == ops::OpClass::kContraction) {
    const bool has_weights = std::ranges::any_of(node.inputs(), [](const ir::Value* input) {
      return has_numbers(input) && input->constant()->dims.size() >= 2;
    });
    return has_weights
               ? fmt::format("weights in blocks are for products and lookups, not for {}", ir::operator_name(node))
               : std::string();
  }
  const ir::Value* table = op->operands.find(ops::Role::kIndex) == 1 ? node.input(0) : nullptr;
  return has_numbers(table) ? why_no_lookup(node, table) : std::string();
}

}  // namespace thaw::quantizing::blocks
