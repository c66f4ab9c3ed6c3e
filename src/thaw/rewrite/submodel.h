// A part of a model as a model: from values that are fed to values that are wanted.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// Values of the main graph that nodes make, with their element types and ranks.
using BoundaryValues = std::map<std::string, ir::Type, std::less<>>;

// A copy with what `outputs` need and no more; it states no sizes. Of `fed`, and of the model's inputs, those are its inputs
// that are needed. Weights are views of the model's; what it may cost is counted apart.
std::unique_ptr<ir::Model> submodel_of(const ir::Model& model, const BoundaryValues& fed,
                                       const std::vector<std::string>& outputs);

}  // namespace thaw::rewrite
