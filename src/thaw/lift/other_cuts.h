// Cuts that no trace needed. Internal to lift/.
//
// What was padded, or made larger by a whole factor, is cut back to the size of what it is added to: along one axis, where the
// sides of the other are whole in every trace, so that no exporter wrote a Slice there. At a size that is not whole the two
// would not fit each other. Which axes are padded together a Pad says, too.
#pragma once

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Where an axis is cut back so, and another, equal to that of the other operand in every trace, is known to be another size; or
// where an axis is cut back to what a Pad took, and another stays as long as that Pad made it:
// puts a Slice there in each trace that cuts nothing in any. Whether there was one; the traces are to be aligned again then.
bool cut_other_axes(Lifting& lifting);

}  // namespace thaw::lifting
