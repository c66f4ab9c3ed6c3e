// The parts of a model, one after the other, beside the model.
#pragma once

#include <functional>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/split.h"
#include "thaw/split/split.h"

namespace thaw::confirm {

struct Divided {
  std::vector<splitting::Part> parts;
  SplitReport report;
};

// Cuts the model and runs the parts beside it, at three sizes where there are free ones. `require` is asked before that, and
// throws what would keep the parts from being written.
Divided split(const ir::Model& model, const SplitOptions& options,
              const std::function<void(const std::vector<splitting::Part>&)>& require = {});

}  // namespace thaw::confirm
