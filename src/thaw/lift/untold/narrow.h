// Narrowing a domain to the sizes at which the model can run. Internal to lift/.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "thaw/lift/domain/needs.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Narrows the domain until the proof of `check --sizes` breaks nothing in it, and says in the report what was proven; what breaks all the same
// is not explained. Sizes at which it does. traced: the nodes of the trace that are left.
std::optional<std::vector<int64_t>> narrow_to_proven(Lifting& lifting, Domain& domain, const Needs& needs,
                                                     const std::unordered_set<const ir::Node*>& traced);

// Adds what nodes need that does not hold somewhere outside of the traces, and does in every trace and at all sizes that are drawn between.
void hold_needs_outside(const Lifting& lifting, Domain& domain, const Needs& needs);

}  // namespace thaw::lifting
