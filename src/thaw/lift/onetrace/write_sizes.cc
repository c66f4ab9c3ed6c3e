#include "thaw/lift/onetrace/write_sizes.h"

#include <string>

namespace thaw::lifting::onetrace {

void write_sizes(const Constant& constant, const ops::Shape& sizes, rewrite::DimEmitter& emitter) {
  const ops::Emit& at = emitter.at();
  ir::Value* value = sizes.size() == 1 ? emitter.emit(sizes.front()) : emitter.emit_shape(sizes);
  if (constant.dims.size() != 1) value = at.reshape(value, at.list(constant.dims));
  if (constant.type != ir::DataType::kInt64) value = at.cast(value, constant.type);
  for (const ir::Use& use : constant.uses) use.node->set_input(use.index, value);
}

}  // namespace thaw::lifting::onetrace
