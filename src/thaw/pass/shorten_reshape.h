// Shape -> Gather -> Unsqueeze -> Concat -> Reshape becomes a Reshape by a constant of 0 and -1.
//
// requires  nothing
// ensures   a Reshape whose target is computed, and whose output dims are constants, dims of its data at the same axis,
//           and at most one more, takes a constant target (infer/shape_chain.h says when); the nodes that computed it
//           are left without use where nothing else reads them. At a size of 0 the constant means the same only where
//           the axis that -1 stands for is decided by the others: a Reshape whose data may be empty by a constant 0 is
//           left.
#pragma once

#include "thaw/pass/fix.h"

namespace thaw::pass {

void shorten_reshapes(ir::Model& model, FixReport& report);

}  // namespace thaw::pass
