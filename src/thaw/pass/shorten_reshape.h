// Shape -> Gather -> Unsqueeze -> Concat -> Reshape becomes a Reshape by a constant of 0 and -1.
//
// requires  nothing
// ensures   a Reshape whose target is computed, and whose output dims are constants, dims of its data at the same axis,
// and at
//           most one more, takes a constant target; the nodes that computed it go when nothing else reads them. At a
//           size of 0 the constant means the same only where the axis that -1 stands for is decided by the others: a
//           Reshape whose data may be empty by a constant 0 is left.
#pragma once

#include <vector>

#include "thaw/dim/dim.h"
#include "thaw/pass/fix.h"

namespace thaw::pass {

void shorten_reshapes(ir::Model& model, FixReport& report);

// The constant target that does the same as the node's computed one; empty where there is none. `in` and `out` are the
// shapes of its data and its output.
std::vector<int64_t> constant_target(const std::vector<dim::Dim>& in, const std::vector<dim::Dim>& out);

}  // namespace thaw::pass
