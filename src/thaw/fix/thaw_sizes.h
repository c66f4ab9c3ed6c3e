// Rewriting frozen sizes as expressions of the inputs.
#pragma once

#include "thaw/rewrite/pass.h"

namespace thaw::fix {

void thaw_sizes(ir::Model& model, rewrite::Changes& changes);

inline constexpr rewrite::Pass kThawSizes = {
    .name = "thaw sizes",
    .expects = "opset 12 or later where a size must be computed",
    .ensures =
        "the graph computes what it did at the frozen sizes, and a rewritten node admits every size that the nodes "
        "around it do; only what follows from the graph is rewritten, and what does not is left and said",
    .run = thaw_sizes};

}  // namespace thaw::fix
