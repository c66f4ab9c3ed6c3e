// Where a model's sizes are frozen at an example's, as `thaw check` finds them, and which tensors that leaves with a
// number where the input's size belongs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/finding.h"
#include "thaw/ir/graph/model.h"

namespace thaw::report {

struct FrozenSizes {
  std::vector<Finding> findings;
  // What the shape of a tensor was meant to be: "[batch, 3, floor(h/8)]". Empty where all inputs are numbers, as then
  // every size is one.
  std::unordered_map<const ir::Value*, std::string> meant;
};

// No weights are read.
FrozenSizes frozen_sizes(const ir::Model& model);

}  // namespace thaw::report
