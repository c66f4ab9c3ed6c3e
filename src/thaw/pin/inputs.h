// The inputs of a model at chosen sizes.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/pin.h"
#include "thaw/rewrite/pass.h"

namespace thaw::pinning {

// Declares the sizes, and makes constants of the inputs that are given. Returns what was given, as arrays.
Arrays pin_inputs(ir::Model& model, const PinOptions& options, rewrite::Changes& changes);

}  // namespace thaw::pinning
