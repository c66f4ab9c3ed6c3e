// Nodes written one way: what exporters write as they please, and optimizers join at some sizes only.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// A Reshape loses `allowzero` where no size is 0; a Conv that pads one end of an axis more than the other has a Pad before
// it for the rest: at a size that asks for none, there was nothing to join. Pads one after the other, of which some sizes
// have only some, become one.
void write_plainly(ir::Model& model);

}  // namespace thaw::lifting
