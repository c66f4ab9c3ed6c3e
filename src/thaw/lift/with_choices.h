// The steps of lifting with some choices: one attempt. Internal to lift/.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/lift/steps.h"
#include "thaw/lift/unknowns/attempt.h"

namespace thaw::lifting {

// found: what attempts before this one found; grows. tried_at: where given, only what the nodes say is asked, at these sizes too, in the
// domain that the model would have. Throws where the budget of a trace is spent.
Attempt lift_with(std::vector<Trace>& traces, const LiftOptions& options, Choices choices, Found& found,
                  const std::vector<std::vector<int64_t>>* tried_at);

}  // namespace thaw::lifting
