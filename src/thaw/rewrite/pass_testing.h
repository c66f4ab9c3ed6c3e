// For tests: what every rewrite ensures, whatever else it does.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// `after` is what a rewrite made of `before`: the official checker takes it, inference finds no problem that was not
// there, inputs and outputs are those that were, every symbol of the inputs is alive, and no size of a tensor of the
// same name is a number that was free.
void expect_ensured(const ir::Model& before, const ir::Model& after);

}  // namespace thaw::rewrite
