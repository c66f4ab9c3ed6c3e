// Nodes written one way: what exporters write as they please, and optimizers join at some sizes only.
#pragma once

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Where each trace has a Pad before a Conv, not of the same amounts, and a part of it at both ends of all axes, the Conv pads.
void take_pads_before(std::vector<Trace>& traces);

// Where a Conv pads otherwise in another trace, it keeps what all of them have at both ends of an axis, and of those cut
// alike; a Pad before it has the rest: padding up to whole strides, of which a size asks for more or less. The traces have as many Convs, in one
// order; else nothing is done.
void part_pads_alike(std::vector<Trace>& traces);

// A Reshape loses `allowzero` where no size is 0; a Conv that pads one end of an axis more than the other has a Pad before
// it for the rest: at a size that asks for none, there was nothing to join. Pads one after the other, of which some sizes
// have only some, become one.
void write_plainly(ir::Model& model);

}  // namespace thaw::lifting
