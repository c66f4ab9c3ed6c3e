// Traces that have not the same nodes, made to have them.
//
// What an exporter wrote depends on the size in small things: whether a Pad is needed, whether a computation of sizes was
// folded. Where traces do not align as they are, what follows from their sizes alone becomes constants, and nodes that
// some of them lack are put there so that they change nothing (neutral_node.h). How far they pad or cut is then one more
// integer to solve, which is 0 there.
#pragma once

#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Leaves traces that align, and whose sizes are not all known, as they are. Where nothing helps, constants may be folded.
void even_out(std::vector<Trace>& traces);

}  // namespace thaw::lifting
