// What stands beside a tensor that is cut. Internal to lift/.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

// The operand beside what a Slice, or a chain of them, cuts, at the node that takes both as they are (elementwise, or joined
// along another axis): which node, and which operands. A null node where there is none.
struct BesideCut {
  const ir::Node* node = nullptr;
  int cut = 0, other = 0;
};
BesideCut beside_cut(const ir::Node& slice);

// Whether the node cuts an axis.
bool cuts(const ir::Node& node);

}  // namespace thaw::lifting
