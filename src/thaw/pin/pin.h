// `thaw pin`: sizes and inputs become numbers, and what follows from them too.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/pin.h"
#include "thaw/rewrite/pass.h"

namespace thaw::pinning {

using thaw::DynamicAxis;
using thaw::PinOptions;

struct Pinned {
  rewrite::Changes changes;
  std::vector<DynamicAxis> open;
  Arrays given;  // the inputs that became constants, by name
};

// Changes the model in place.
Pinned pin(ir::Model& model, const PinOptions& options);

}  // namespace thaw::pinning
