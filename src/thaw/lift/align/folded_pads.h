// What windows pad and what a Pad before them does, written one way: optimizers fold the one into the other at some sizes only. Internal
// to lift/.
#pragma once

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Where each trace has a Pad before the same windows, not of the same amounts, and a part of it at both ends of all axes, the node with the
// windows pads.
void take_pads_before(std::vector<Trace>& traces);

// Where windows are padded otherwise in another trace, their node keeps what all of them have at both ends of an axis, and of those cut
// alike; a Pad before it has the rest: padding up to whole strides, of which a size asks for more or less. Others of that kernel, stride and
// dilation keep no more, as sizes may happen to ask for as much of them in every trace. The traces have as many such nodes, in one order; else
// nothing is done.
void part_pads_alike(std::vector<Trace>& traces);

// Where one end of an axis is padded more than the other, a Pad before the node has the rest: at a size that asks for none, there was
// nothing to fold.
void part_uneven_pads(ir::Node& node, ir::Model& model);

}  // namespace thaw::lifting
