#include "thaw/sensitivity/flops_of_run.h"

#include <string>
#include <utility>
#include <vector>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/infer/cost.h"
#include "thaw/infer/infer.h"

namespace thaw::measuring {

double flops_of_run(const ir::Model& model, const Arrays& feeds) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const ir::Value* input : model.graph->inputs()) {
    const auto at = feeds.find(input->name());
    const auto& shape = input->type.shape;
    if (at == feeds.end() || !shape) continue;
    for (size_t axis = 0; axis < shape->size() && axis < at->second.dims.size(); ++axis)
      if (!(*shape)[axis].param.empty()) sizes.emplace_back((*shape)[axis].param, at->second.dims[axis]);
  }
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  const dim::Assignment at = infer::assumed_sizes(scope, sizes);
  return confirm::cost_of_runs(model, facts).at(at).flops;
}

}  // namespace thaw::measuring
