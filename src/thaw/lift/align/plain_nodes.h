// Nodes written one way: what exporters write as they please, and optimizers join at some sizes only.
#pragma once

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// A Reshape loses `allowzero` where no size is 0; windows that are padded unevenly have a Pad before them for the rest (folded_pads.h).
// Pads one after the other, of which some sizes have only some, become one.
void write_plainly(ir::Model& model);

}  // namespace thaw::lifting
