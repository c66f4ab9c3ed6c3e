// Transposed convolutions that make what a size asks for. Internal to lift/.
//
// How many entries one adds at the end and cuts off at both is an attribute: torch's `output_size` becomes it, as an input of 13 and one of
// 14 have the same 7 halves. What it makes without is cut to its size by a Slice.
#pragma once

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Where these attributes differ from trace to trace. The traces have as many transposed convolutions, in one order; else nothing is
// done.
void cut_transposed_alike(std::vector<Trace>& traces);

}  // namespace thaw::lifting
