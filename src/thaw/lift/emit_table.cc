#include "thaw/lift/emit_table.h"

#include <fmt/format.h>

namespace thaw::lift {

ir::Value* TableEmitter::emit(std::string_view op, std::vector<ir::Value*> inputs,
                              std::vector<ir::Attribute> attributes) {
  const std::string name = graph_.unique_name(fmt::format("lift_{}", op));
  ir::Value* out = graph_.add_value(name);
  ir::Node* node = graph_.add_node(std::string(op), "", std::move(inputs), {out}, name, before_);
  for (ir::Attribute& attribute : attributes) node->set_attribute(std::move(attribute));
  ++num_nodes_;
  return out;
}

ir::Value* TableEmitter::ints(const std::vector<int64_t>& values) {
  ir::Value*& made = ints_[values];
  if (!made) {
    made = graph_.add_initializer(
        ir::Tensor::from_int64(graph_.unique_name("lift_ints"), {static_cast<int64_t>(values.size())}, values));
  }
  return made;
}

ir::Value* TableEmitter::integer(int64_t value) {
  ir::Value*& made = integers_[value];
  if (!made) made = graph_.add_initializer(ir::Tensor::from_int64(graph_.unique_name("lift_int"), {}, {&value, 1}));
  return made;
}

ir::Value* TableEmitter::floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return graph_.add_initializer(ir::Tensor::from_float(graph_.unique_name("lift_table"), dims, values));
}

ir::Value* TableEmitter::cast(ir::Value* x, ir::DataType type) {
  return emit("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
}

ir::Value* TableEmitter::arange(dim::Dim length) {
  // Range takes scalars.
  ir::Value* end = emit("Reshape", {size(length), ints({})});
  return emit("Range", {integer(0), end, integer(1)});
}

ir::Value* TableEmitter::column(ir::Value* x) { return emit("Reshape", {x, ints({-1, 1})}); }

ir::Value* TableEmitter::concat(std::vector<ir::Value*> parts, int64_t axis) {
  return parts.size() == 1 ? parts.front() : emit("Concat", std::move(parts), {{"axis", axis}});
}

}  // namespace thaw::lift
