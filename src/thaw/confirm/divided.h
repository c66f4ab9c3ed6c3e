// The parts of a model, one after the other, beside the model.
#pragma once

#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/split.h"
#include "thaw/split/split.h"

namespace thaw::confirm {

struct Divided {
  std::vector<splitting::Part> parts;
  SplitReport report;
};

// Cuts the model and runs the parts beside it, at three sizes where there are free ones.
Divided split(const ir::Model& model, const SplitOptions& options);

}  // namespace thaw::confirm
