// A pinned model beside the model that it was made of, at its sizes.
#pragma once

#include <functional>

#include "thaw/ir/graph/model.h"
#include "thaw/pin.h"

namespace thaw::confirm {

// Pins `model`, a copy of `original`, and runs both. `require` is asked before that, and throws what would keep the result
// from being written.
PinReport pin(ir::Model& model, const ir::Model& original, const PinOptions& options,
              const std::function<void(ir::Model&)>& require = {});

}  // namespace thaw::confirm
