// What operators that keep the elements in order share.
#pragma once

#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/frozen_rule.h"

namespace thaw::ops {

// Output 0 has the elements of input 0, in row-major order.
void keep_elements(Context& ctx);

// How a frozen size shows at a Reshape; in reshape_frozen.cc.
void frozen_reshape(FrozenContext& ctx);

}  // namespace thaw::ops
