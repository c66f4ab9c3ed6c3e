// Results that were written into a buffer, one place after the other, as one Concat of them.
#pragma once

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// `out[:, t] = y` of each step is exported as a Scatter into what the step before left of the buffer. Where each place
// along one axis is written once, by constant indices, and nothing else reads the buffer on the way, all that was in it
// at first is gone: it is the Concat of what was written. Returns how many buffers were joined.
int join_writes(ir::Model& model, const infer::Result& facts);

}  // namespace thaw::lifting
