// Casts between float16, bfloat16 and float32, wherever operands of one type are asked for and are of several.
#pragma once

#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

// Returns how many Casts it wrote, each listed in `made`. Nothing is written where all types fit.
int settle_types(ir::Model& model, std::vector<Change>& made);

}  // namespace thaw::fixing
