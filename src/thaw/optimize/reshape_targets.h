// Targets of Reshapes that are computed, where a constant of 0 and -1 says the same.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// A size is written as a number only where the file has it as one. Not for models with frozen sizes: what looks like a
// number may be one of them (`thaw fix` tells). Returns how many.
int write_reshape_targets(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
