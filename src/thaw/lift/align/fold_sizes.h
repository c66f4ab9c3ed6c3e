// What follows from a trace's sizes, as constants.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// Integers and truth values that inference knows to the last one become constants, and what computed them goes.
void fold_sizes(ir::Model& model);

// The amounts of Pads that an exporter joins of constants become one each: what a part is for is told at the Pad alone.
void fold_pads(ir::Model& model);

}  // namespace thaw::lifting
