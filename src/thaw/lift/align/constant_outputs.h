// Outputs that an exporter folded to constants. Internal to lift/.
//
// A mask or positions that a model returns as they are made follow from the sizes alone: the trace has a constant there.
#pragma once

#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Puts a node before each output that is a constant which differs between the traces, so that it is one that is read.
void read_constant_outputs(std::vector<Trace>& traces);

}  // namespace thaw::lifting
