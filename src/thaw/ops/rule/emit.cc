#include "thaw/ops/rule/emit.h"

namespace thaw::ops {

ir::Value* Emit::list(const std::vector<int64_t>& values) const {
  return writer_->constant(ir::Tensor::from_int64({}, {static_cast<int64_t>(values.size())}, values));
}

ir::Value* Emit::own_list(std::string_view name, const std::vector<int64_t>& values) const {
  return graph_->add_initializer(
      ir::Tensor::from_int64(graph_->unique_name(std::string(name)), {static_cast<int64_t>(values.size())}, values));
}

ir::Value* Emit::integer(int64_t value) const {
  return writer_->constant(ir::Tensor::from_int64({}, {}, std::span(&value, 1)));
}

ir::Value* Emit::scalar(double value, ir::DataType type) const {
  const auto single = static_cast<float>(value);
  return cast(writer_->constant(ir::Tensor::from_float({}, {}, std::span(&single, 1))), type);
}

ir::Value* Emit::floats(const std::vector<int64_t>& dims, const std::vector<float>& values) const {
  return writer_->constant(ir::Tensor::from_float({}, dims, values));
}

ir::Value* Emit::cast(ir::Value* x, ir::DataType to) const {
  if (const ir::Tensor* constant = x->constant(); constant && constant->data_type == to) return x;
  return emit("Cast", {x}, {{"to", static_cast<int64_t>(to)}});
}

ir::Value* Emit::unsqueeze(ir::Value* x, const std::vector<int64_t>& axes) const {
  return axes.empty() ? x : emit("Unsqueeze", {x, list(axes)});
}

ir::Value* Emit::squeeze(ir::Value* x, const std::vector<int64_t>& axes) const {
  return axes.empty() ? x : emit("Squeeze", {x, list(axes)});
}

ir::Value* Emit::reduce(std::string_view op, ir::Value* x, const std::vector<int64_t>& axes, bool keepdims) const {
  return axes.empty() ? x : emit(op, {x, list(axes)}, {{"keepdims", int64_t{keepdims}}});
}

ir::Value* Emit::transpose(ir::Value* x, const std::vector<int64_t>& permutation) const {
  return emit("Transpose", {x}, {{"perm", permutation}});
}

ir::Value* Emit::concat(std::vector<ir::Value*> parts, int64_t axis) const {
  return parts.size() == 1 ? parts.front() : emit("Concat", std::move(parts), {{"axis", axis}});
}

ir::Value* Emit::slice(ir::Value* x, int64_t begin, int64_t end, int64_t axis) const {
  return emit("Slice", {x, list({begin}), list({end}), list({axis})});
}

}  // namespace thaw::ops
