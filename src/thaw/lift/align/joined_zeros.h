// Zeros that are joined to a tensor, written as what they are: a Pad.
//
// A model that fills up its last chunk by hand joins zeros to its data (Gemma 3n's audio). Where the data fills whole
// chunks there are none, and no Concat; a Pad may be left out and put back (even_out.h).
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// Every Concat of one operand that is computed and of zeros becomes a Pad, of floats alone.
void write_joined_zeros_as_pads(ir::Model& model);

}  // namespace thaw::lifting
