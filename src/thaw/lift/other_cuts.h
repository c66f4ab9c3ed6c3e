// Cuts that no trace needed. Internal to lift/.
//
// What was padded, or made larger by a whole factor, is cut back to the size of what it is added to: along one axis, where the
// sides of the other are whole in every trace, so that no exporter wrote a Slice there. At a size that is not whole the two
// would not fit each other. Which axes are padded together a Pad says, too.
#pragma once

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// The operand beside what a Slice, or a chain of them, cuts, at the node that takes both as they are (elementwise, or joined
// along another axis): which node, and which operands. A null node where there is none.
struct BesideCut {
  const ir::Node* node = nullptr;
  int cut = 0, other = 0;
};
BesideCut beside_cut(const ir::Node& slice);

// Where an axis is cut back so, and another, equal to that of the other operand in every trace, is known to be another size; or
// where an axis is cut back to what a Pad took, and another stays as long as that Pad made it:
// puts a Slice there in each trace that cuts nothing in any. Whether there was one; the traces are to be aligned again then.
bool cut_other_axes(Lifting& lifting);

}  // namespace thaw::lifting
