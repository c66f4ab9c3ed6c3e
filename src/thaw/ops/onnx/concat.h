// What operators that join tensors share. The tensors are the operands first, first + step, …
#pragma once

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"

namespace thaw::ops {

std::optional<AxesMap> concat_axes(NodeView& view, int first, int step);
void batch_parts(BatchContext& n, int first, int step);

}  // namespace thaw::ops
