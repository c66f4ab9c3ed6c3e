#include "thaw/ops/onnx/given_axes.h"

namespace thaw::ops {

std::optional<std::vector<int64_t>> given_axes(NodeView& view, int operand) {
  if (auto attribute = view.attr_ints("axes"); attribute && !attribute->empty()) return attribute;
  return view.has_input(operand) ? view.ints(operand) : std::nullopt;
}

std::optional<std::vector<int64_t>> axes_given(BatchContext& n, int operand) {
  auto axes = given_axes(n, operand);
  if (n.original(operand) && (!axes || n.is_batched(operand))) BatchContext::refuse("its axes are not constant");
  return axes;
}

bool keep_on_computed_axes(BatchContext& n, int operand) {
  if (!n.original(operand) || n.constant_ints(operand)) return false;
  n.require_same_for_all(operand, "list of axes");
  ir::Value* axes = n.shifted_axes(operand);
  n.set_operand(0, n.leading(0));
  n.set_operand(operand, axes);
  n.note_change();
  n.keep(Form::kLeading);
  return true;
}

}  // namespace thaw::ops
