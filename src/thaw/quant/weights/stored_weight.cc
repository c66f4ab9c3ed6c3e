#include "thaw/quant/weights/stored_weight.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/ops/onnx/constant_operand.h"

namespace thaw::quantizing {
namespace {

constexpr int kMostSteps = 8;

bool is_half_type(ir::DataType type) { return type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16; }

}  // namespace

std::optional<StoredWeight> stored_weight(const ir::Value* operand) {
  bool is_cast = false, transposed = false;
  auto* value = const_cast<ir::Value*>(operand);
  for (int step = 0; value && !value->is_input() && step < kMostSteps; ++step) {
    if (const ir::Tensor* tensor = value->constant()) {
      if (!ir::is_floating(tensor->data_type) || (is_cast && !is_half_type(tensor->data_type))) return std::nullopt;
      if (transposed && tensor->dims.size() != 2) return std::nullopt;
      return StoredWeight{value, tensor, is_cast ? ir::DataType::kFloat : tensor->data_type, transposed};
    }
    const ir::Node* maker = value->producer();
    if (!maker) return std::nullopt;
    if (ir::Value* before = ops::cast_to_float(*maker); before && !is_cast) {
      is_cast = true;
      value = before;
    } else if (ir::Value* same = ops::unchanged(*maker)) {
      value = same;
    } else if (ir::Value* upright = ops::transposed_matrix(*maker)) {
      transposed = !transposed;
      value = upright;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::string why_no_axes(const ir::Tensor& weight) {
  if (weight.dims.empty()) return "its weight is one number";
  return weight.dims.size() == 1 ? "its weight is a vector" : "";
}

std::string why_computed(const ir::Value* weight) {
  const ir::Node* maker = weight ? weight->producer() : nullptr;
  const bool is_made_of_constants =
      maker && !maker->inputs().empty() &&
      std::ranges::all_of(maker->inputs(), [](const ir::Value* input) { return !input || input->constant(); });
  return is_made_of_constants ? fmt::format("its weight is computed by a {}, not constant", maker->op_type()) : "";
}

}  // namespace thaw::quantizing
