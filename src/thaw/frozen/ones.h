// Whether a 1 beside a frozen size stays 1. Internal to frozen/.
//
// A Reshape of [1, 4, 16] to [1, 1, 4, 16] puts an axis in, or cuts the 4 into windows, of which the export had one. Its target
// does not tell, and the graph goes through at the export's size either way. The rest of the graph may: where something that must hold
// does so at larger sizes with the 1 as it is, and no more where it grows with them (it broadcasts against other sizes, meets a
// weight's axis of 1 or a Squeeze, or the size beside it is added to one that was not cut), it is 1 at every size.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::frozen {

// The 1s beside an element of a Reshape's target that is frozen (ops::Meeting).
struct AdjacentOnes {
  const ir::Node* node;
  int element;
  std::vector<int> ones;
};

// Those, by node and element, of which nothing tells that all of the ones stay 1. `options` has the assumed sizes, `batches` are as
// for frozen rules. One inference.
std::set<std::pair<const ir::Node*, int>> undecided_ones(const ir::Model& model, dim::Scope& scope,
                                                         infer::InferOptions options, const std::set<int>& batches,
                                                         const std::vector<AdjacentOnes>& all);

}  // namespace thaw::frozen
