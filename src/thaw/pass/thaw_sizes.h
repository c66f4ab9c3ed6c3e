// Rewriting frozen sizes as expressions of the inputs.
//
// requires  a model that inference runs through; opset 12 or later where a size must be computed
// ensures   the graph computes what it did at the frozen size; a rewritten node admits every size that the nodes around
// it
//           do. Only constants whose expression follows from the graph are rewritten: a size that several elements of a
//           shape share, a table or a list of split lengths is left, and said so.
// An input whose dims were all numbers is given names for those that the rewrite set free.
#pragma once

#include "thaw/pass/fix.h"

namespace thaw::pass {

void thaw_sizes(ir::Model& model, FixReport& report);

}  // namespace thaw::pass
