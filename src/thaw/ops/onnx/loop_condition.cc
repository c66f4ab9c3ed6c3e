#include "thaw/ops/onnx/loop_condition.h"

namespace thaw::ops {

bool is_true(const ir::Value* value) {
  const ir::Tensor* tensor = value ? value->fixed_constant() : nullptr;
  return tensor && tensor->num_elements() == 1 && tensor->data_type == ir::DataType::kBool &&
         tensor->to_int64()[0] != 0;
}

const ir::Value* behind_identities(const ir::Value* value) {
  while (const ir::Node* node = value ? value->producer() : nullptr) {
    if (node->op_type() != "Identity" || !node->domain().empty()) break;
    value = node->input(0);
  }
  return value;
}

bool goes_on(const ir::Graph& body) {
  if (body.inputs().size() < 2 || body.outputs().empty()) return false;
  const ir::Value* condition = behind_identities(body.outputs()[0]);
  return condition == body.inputs()[1] || is_true(condition);
}

bool takes_list_of_one(const ir::Graph& body, size_t index) {
  if (index >= body.inputs().size()) return false;
  const auto& shape = body.inputs()[index]->type.shape;
  return shape && shape->size() == 1;
}

}  // namespace thaw::ops
