// A newer opset for models of one in which what is lifted has no form: sizes cannot be computed before opset 12, and what
// became operands by 13 (the parts of a Split) are attributes before, which no node computes. Internal to lift/.
#pragma once

#include <span>

#include "thaw/finding.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// What was raised, for a report. Throws thaw::Error where a node has no equal in the newer opset.
std::vector<Note> raise_opset_of_sizes(ir::Model& model);
// The same of traces: all to one opset, also from 12 where integers of their nodes' attributes differ.
std::vector<Note> raise_opset_of_sizes(std::span<Trace> traces);

}  // namespace thaw::lifting
