// What a node that draws random numbers gives where each run must give the same.
#pragma once

#include <cstdint>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/emit.h"

namespace thaw::ops {

// Numbers of the node's distribution, in its shape and `type`, by their places alone; others for another `salt`, which is small
// and not negative. Throws CannotWrite where the opset has no operators for them.
using NoiseRule = ir::Value* (*)(const ir::Node& node, ir::DataType type, int64_t salt, const Emit& at);

}  // namespace thaw::ops
