// Blocks of a mask along its diagonal, cut before the mask is made of its rows and columns.
//
// Attention in chunks cuts its mask [n, n] twice: rows 16..32, and of these columns 16..32 (CANINE). The second cut is
// not one of a tensor that every chunk reads, so that the chunks were no loop over windows. Where the mask is an
// elementwise operator of what has rows alone and what has columns alone, both may be cut before: each is then cut along
// one axis, and the operator is a part of the chunk's own work.
#pragma once

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Rewrites every such block of a trace; what is computed stays the same number by number.
void cut_operands_of_blocks(ir::Model& model);

}  // namespace thaw::lifting
