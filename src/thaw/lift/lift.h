// The surgery behind thaw/lift.h: alignment, solving, tables and loops, in the order of lift.cc.
#pragma once

#include <vector>

#include "thaw/lift.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Changes the first trace's model into the lifted one; LiftOptions::check is for the caller (confirm/traces.h). Throws
// thaw::Error where the traces cannot be aligned. With something unexplained the model must not be used.
LiftReport lift(std::vector<Trace>& traces, const LiftOptions& options);

}  // namespace thaw::lifting
