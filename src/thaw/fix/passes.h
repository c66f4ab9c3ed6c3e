// The passes of `fix`: each is in the file of its name. Their order is in fix.cc.
//
// A pass returns how many changes it made.
#pragma once

#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

// Operands that are of several types where one is asked for are of one: by the `to` of one Cast, or one constant in another type,
// where that is all that it takes; else by Casts between float16, bfloat16 and float32 (settle_types.h), in bodies and at outputs
// too. What leaves no fewer locations where types do not fit is taken back.
int fix_types(rewrite::PassContext& context);

// Frozen sizes become expressions of the inputs: all that come from an axis, or none of them. An axis of an input of which something
// frozen is rewritten moves in the whole graph, and one of which something would be left is as it was, with all that comes from
// it, and said. At the frozen sizes the graph computes what it did. Takes opset 10 or later where a size must be computed, 12 for
// some.
int thaw_sizes(rewrite::PassContext& context);

// Shape -> Gather -> Unsqueeze -> Concat -> Reshape becomes a Reshape by a constant of 0, -1 and literal numbers, where that says the
// same (infer/shape_chain.h says when), unless it holds a frozen size. What computed it is left without use.
int shorten_reshapes(rewrite::PassContext& context);

// value_info, inputs and outputs say what follows from the graph, one name a size; what is a number only because something before
// it is frozen is not declared as one in the place of a name.
int declare_sizes(rewrite::PassContext& context);

}  // namespace thaw::fixing
