#include "thaw/lift/onetrace/write_sizes.h"

#include <string>

namespace thaw::lifting::onetrace {

std::unordered_map<const ir::Value*, ops::Shape> input_shapes(const ir::Model& model, const Sizes& sizes) {
  std::unordered_map<const ir::Value*, ops::Shape> shapes;
  for (const ir::Value* input : model.graph->inputs())
    if (const auto shape = sizes.shapes.find(input->name()); shape != sizes.shapes.end())
      shapes.emplace(input, shape->second);
  return shapes;
}

void read_sizes(const ir::Model& model, const Sizes& sizes, rewrite::DimEmitter& emitter) {
  for (const Size& size : sizes.sizes)
    if (!size.is_dim) emitter.read_from(size.symbol, model.graph->find(size.input), size.index);
}

void write_sizes(const Constant& constant, const ops::Shape& sizes, rewrite::DimEmitter& emitter) {
  const ops::Emit& at = emitter.at();
  ir::Value* value = sizes.size() == 1 ? emitter.emit(sizes.front()) : emitter.emit_shape(sizes);
  if (constant.dims.size() != 1) value = at.reshape(value, at.list(constant.dims));
  if (constant.type != ir::DataType::kInt64) value = at.cast(value, constant.type);
  for (const ir::Use& use : constant.uses) use.node->set_input(use.index, value);
}

}  // namespace thaw::lifting::onetrace
