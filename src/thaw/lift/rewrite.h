// Writing what was explained into the first trace's model. Internal to lift/.
#pragma once

#include "thaw/lift/explain.h"

namespace thaw::lift {

// Constants become nodes that compute them, loops become batches; inputs, outputs and tensors are declared anew.
void rewrite(std::vector<Trace>& traces, const Options& options, const Explanation& explanation);

}  // namespace thaw::lift
