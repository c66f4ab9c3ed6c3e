// How far a target supports a model: counts over its nodes, by operator, and the parts into which it falls. Internal to check/.
#pragma once

#include <vector>

#include "thaw/check/rule.h"
#include "thaw/targets.h"

namespace thaw::checking {

// By the target that the evidence has now. `limits`: what is said of the model as a whole.
TargetSupport support_of(Evidence& evidence, const std::vector<Finding>& limits);

}  // namespace thaw::checking
