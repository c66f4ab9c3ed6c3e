// Rewriting frozen sizes as expressions of the inputs: all that come from an axis, or none of them.
#pragma once

#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

void thaw_sizes(ir::Model& model, rewrite::Changes& changes);

inline constexpr rewrite::Pass kThawSizes = {
    .name = "thaw sizes",
    .expects = "opset 10 or later where a size must be computed, 12 for some",
    .ensures =
        "the graph computes what it did at the frozen sizes; an axis of an input of which something frozen is "
        "rewritten "
        "moves in the whole graph, and one of which something would be left is as it was, with all that comes from it, "
        "and said",
    .run = thaw_sizes};

}  // namespace thaw::fixing
