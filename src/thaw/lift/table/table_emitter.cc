#include "thaw/lift/table/table_emitter.h"

#include <fmt/format.h>

#include "thaw/ir/graph/insert_node.h"

namespace thaw::lift {

ir::Value* TableEmitter::emit(std::string_view op, std::vector<ir::Value*> inputs,
                              std::vector<ir::Attribute> attributes) {
  const std::string name = fmt::format("lift_{}", op);
  if (!attributes.empty())
    return ir::insert_node(graph_, before_, op, std::move(inputs), std::move(attributes), name,
                           graph_.unique_name(name));
  ir::Value*& made = made_[{std::string(op), inputs}];
  if (!made) made = ir::insert_node(graph_, before_, op, std::move(inputs), {}, name, graph_.unique_name(name));
  return made;
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
  constexpr size_t kSmall = 256;  // entries: larger tables are each their own
  if (values.size() <= kSmall)
    if (const auto known = floats_.find({dims, values}); known != floats_.end()) return known->second;
  ir::Value* made = graph_.add_initializer(ir::Tensor::from_float(graph_.unique_name("lift_table"), dims, values));
  if (values.size() <= kSmall) floats_.emplace(std::pair(dims, values), made);
  return made;
}

ir::Value* TableEmitter::cast(ir::Value* x, ir::DataType type) {
  ir::Value*& made = casts_[{x, type}];
  if (!made) made = emit("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
  return made;
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
