// Gelu written out.
#pragma once

#include "thaw/ops/rule/emit.h"

namespace thaw::ops {

// Of a tensor of that floating-point type, by the error function or its approximation by tanh.
ir::Value* gelu_as_arithmetic(const Emit& at, ir::Value* x, ir::DataType type, bool by_tanh);

}  // namespace thaw::ops
