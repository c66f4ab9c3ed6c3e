// Running a lifted model beside the traces that it was made of, each at its own size.
#pragma once

#include <string>
#include <vector>

#include "thaw/confirm/run_check.h"
#include "thaw/lift/align/traces.h"

namespace thaw::confirm {

// A check for each trace, by its name. Inputs whose values are not given are drawn, as `thaw verify` draws them
// (run/feeds.h). Traces are read again from where they came from, as lifting changes them. Throws thaw::Error where a trace itself does not run.
std::vector<RunCheck> compare_with_traces(const ir::Model& lifted, const std::vector<lifting::Trace>& traces);

}  // namespace thaw::confirm
