// What operators that read or write by index share.
#pragma once

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/frozen_rule.h"

namespace thaw::ops {

// Operand 1 says which rows of operand 0 are read along an axis.
std::optional<AxesMap> gather_axes(NodeView& view, int64_t axis);
void batch_gather(BatchContext& n);

// How a frozen size shows at each; in gather_frozen.cc.
void frozen_gather(FrozenContext& ctx);
void frozen_gather_elements(FrozenContext& ctx);
void frozen_gather_nd(FrozenContext& ctx);

// [batch, …, k] -> [batch, …, k + 1]: the sample's number becomes the first of each index.
ir::Value* with_sample_numbers(BatchContext& n, ir::Value* indices, int index_rank);

}  // namespace thaw::ops
