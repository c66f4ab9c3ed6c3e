#include "thaw/ops/target/quantized.h"

namespace thaw::ops {

const ir::Value* stored_as(const ir::Value& floats) {
  if (const ir::Node* maker = floats.producer(); maker && maker->op_type() == "DequantizeLinear")
    return maker->input(0);
  for (const ir::Use& use : floats.uses())
    if (use.node->op_type() == "QuantizeLinear" && use.node->input(0) == &floats) return use.node->output(0);
  return nullptr;
}

}  // namespace thaw::ops
