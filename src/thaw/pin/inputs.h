// The inputs of a model at chosen sizes.
#pragma once

#include "thaw/pin.h"
#include "thaw/rewrite/pass.h"

namespace thaw::pinning {

// Declares the sizes, and makes constants of the inputs that are given. Returns what was given, as arrays.
// What is known of the model is then out of date.
Arrays pin_inputs(rewrite::PassContext& context, const PinOptions& options);

}  // namespace thaw::pinning
