// What of a tensor's numbers makes a difference to those that read it: codes need not reach beyond.
#pragma once

#include <unordered_map>

#include "thaw/ir/graph/graph.h"
#include "thaw/quant/int8/affine.h"

namespace thaw::quantizing::int8 {

// By tensors of the graph; those of which every number counts are not there. A convolution before a HardSwish need not tell
// apart what lies below -3, however far down it reaches.
std::unordered_map<const ir::Value*, Range> useful_ranges(const ir::Graph& graph);

}  // namespace thaw::quantizing::int8
