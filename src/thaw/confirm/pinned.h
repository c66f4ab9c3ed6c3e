// A pinned model beside the model that it was made of, at its sizes.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/pin.h"

namespace thaw::confirm {

// Pins `model`, a copy of `original`, and runs both.
PinReport pin(ir::Model& model, const ir::Model& original, const PinOptions& options);

}  // namespace thaw::confirm
