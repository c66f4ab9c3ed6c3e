// The inputs of a model at chosen sizes.
#pragma once

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/pin.h"
#include "thaw/rewrite/pass.h"

namespace thaw::pinning {

// Declares the sizes, and makes constants of the inputs that are given. Returns what was given, as arrays.
// `facts`, in `scope`, are the model's as it is.
Arrays pin_inputs(ir::Model& model, const dim::Scope& scope, const infer::Result& facts, const PinOptions& options,
                  rewrite::Changes& changes);

}  // namespace thaw::pinning
