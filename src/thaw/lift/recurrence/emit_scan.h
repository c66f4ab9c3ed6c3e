// A recurrence that was written out, as one Scan.
#pragma once

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/recurrence/unrolled_body.h"

namespace thaw::lifting {

// Puts a Scan in the place of the steps; what joined their results reads its output, and the nodes of the steps that
// nothing reads any more are gone. Sizes that are written down (what pieces a tensor is cut into) are this trace's.
// facts: inferred before, for the values that there were then.
void put_scan(ir::Model& model, const Strands& strands, const UnrolledBody& body, const infer::Result& facts);

}  // namespace thaw::lifting
