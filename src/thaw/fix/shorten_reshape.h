// Shape -> Gather -> Unsqueeze -> Concat -> Reshape becomes a Reshape by a constant of 0 and -1.
#pragma once

#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

void shorten_reshapes(ir::Model& model, rewrite::Changes& changes);

inline constexpr rewrite::Pass kShortenReshapes = {
    .name = "shorten chains of shapes",
    .expects = {},
    .ensures =
        "a Reshape whose computed target says what a constant of 0, -1 and literal numbers says as well takes that "
        "constant (infer/shape_chain.h says when), unless that holds a frozen size; what computed it is left without "
        "use",
    .run = shorten_reshapes};

}  // namespace thaw::fixing
