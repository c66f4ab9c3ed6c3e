// What a run costs, in operations: where runs cost little, there is nothing to save by foretelling what they would show.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/run/array.h"

namespace thaw::measuring {

// Floating-point operations of a run at the sizes of these inputs, as far as they and the operators are known. Sizes that are computed
// from what inputs hold are taken for 64.
double flops_of_run(const ir::Model& model, const Arrays& feeds);

}  // namespace thaw::measuring
