// What follows from a trace's sizes, as constants.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// Integers and truth values that inference knows to the last one become constants, and what computed them goes.
void fold_sizes(ir::Model& model);

}  // namespace thaw::lifting
