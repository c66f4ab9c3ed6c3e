// An optimized model run beside the one that it was made of, before it is written.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/optimize.h"

namespace thaw::confirm {

// Optimizes `model` in place (optimize/optimize.h) and, where that changed something and OptimizeOptions::check asks for
// it, runs it beside the original: at the original's own sizes and at two others (confirm/fixed.h). A model that does not
// agree must not be written. `original` may be `model` itself where nothing is to be run.
OptimizeReport optimize(ir::Model& model, const ir::Model& original, const OptimizeOptions& options);

}  // namespace thaw::confirm
