// What operators on sequences and optionals share.
#pragma once

#include <string_view>

#include "thaw/ops/rule/batch.h"

namespace thaw::ops {

inline constexpr std::string_view kNoAxesOfSequences = "a sequence has no axes of its own";

// A number of items, or whether there is one: the same for all samples.
inline void batch_length(BatchContext& n) { n.set_operand(0, n.leading(0)); }

}  // namespace thaw::ops
