// Declarations that are true, and name what was meant to be free.
#pragma once

#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

void declare_sizes(ir::Model& model, rewrite::Changes& changes);

inline constexpr rewrite::Pass kDeclareSizes = {
    .name = "declare truly",
    .expects = {},
    .ensures =
        "value_info, inputs and outputs say what follows from the graph, one name a size; what is a number only "
        "because "
        "something before it is frozen is not declared as one in the place of a name",
    .run = declare_sizes};

}  // namespace thaw::fixing
