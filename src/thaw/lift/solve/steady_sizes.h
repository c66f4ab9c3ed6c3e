// Sizes that follow from the inputs' and are the same in every trace all the same: the smallest level of a pyramid.
//
// What was frozen of them does not differ between the traces, and would pass for a constant of the model. Internal to lift/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thaw/ir/graph/graph.h"
#include "thaw/lift/solve/tensor_sizes.h"

namespace thaw::lifting {

struct SteadySize {
  const ir::Value* value = nullptr;  // of the first trace
  size_t axis = 0;
  dim::Dim size;
  int64_t at = 0;  // in every trace
  size_t rank = 0;
};

// Of what the nodes of the first trace give, in their order.
std::vector<SteadySize> find_steady_sizes(const std::vector<ir::Node*>& nodes, const TensorShapes& shapes,
                                          std::span<const Variable> variables);

}  // namespace thaw::lifting
