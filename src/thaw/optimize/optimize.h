// `thaw optimize`: passes over a model until none finds anything more to do.
#pragma once

#include "thaw/optimize.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

using thaw::OptimizeOptions;

// Changes the model in place.
rewrite::Changes optimize(ir::Model& model, const OptimizeOptions& options = {});

// Nodes with those of subgraphs, and bytes of initializers.
struct Weight {
  size_t nodes = 0;
  uint64_t bytes = 0;
};
Weight weigh(const ir::Graph& graph);

}  // namespace thaw::optimizing
