// What the nodes say of the integers that an attempt solved. Internal to lift/.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "thaw/lift/steps.h"
#include "thaw/lift/unknowns/attempt.h"

namespace thaw::lifting {

// traced: the nodes whose needs count. more: sizes beside those that are drawn.

// Of all of them where what was solved contradicts a node, with those before it that no trace varies; and of each place before it alone.
void ask_before(const Lifting& lifting, const std::unordered_set<const ir::Node*>& traced, const ir::Node* contradicted,
                const std::vector<std::vector<int64_t>>& more, Attempt& attempt);

// Of all of them; and at which places the others of those that are open can stand alone.
void ask_of_open(const Lifting& lifting, const std::unordered_set<const ir::Node*>& traced, Attempt& attempt);

// Of those that nothing solved.
void ask_of_unsolved(const Lifting& lifting, const std::unordered_set<const ir::Node*>& traced, Attempt& attempt);

}  // namespace thaw::lifting
