// A pinned model beside the model that it was made of, at its sizes.
#pragma once

#include "thaw/array.h"
#include "thaw/ir/graph/model.h"
#include "thaw/pin.h"

namespace thaw::confirm {

// A model that is pinned, and what it was given for that.
struct Pinned {
  PinReport report;
  Arrays given;  // inputs that became constants
};

// Pins `model`, and runs nothing.
Pinned pin_unchecked(ir::Model& model, const PinOptions& options);

// Runs `model`, which pin_unchecked made of a copy of `original`, beside that, where the options ask for it.
void check(Pinned& pinned, const ir::Model& model, const ir::Model& original, const PinOptions& options);

// Both.
PinReport pin(ir::Model& model, const ir::Model& original, const PinOptions& options);

}  // namespace thaw::confirm
