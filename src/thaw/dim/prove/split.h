// Case splits on min, max and broadcast. Internal to dim/.
#pragma once

#include "thaw/dim/prove/statement.h"

namespace thaw::dim {

// Proves a statement by replacing each min, max and broadcast with each of its operands in turn, the comparison that
// makes it that operand being a fact of the case. `budget` counts cases, and is used up; past it the answer is kOpen.
// kNever: a case that is sure to arise fails everywhere; kOpen where that is not known.
Decision decide_by_cases(const Statement& statement, int& budget);

}  // namespace thaw::dim
