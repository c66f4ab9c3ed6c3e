// Integers that were solved, place by place. Internal to lift/.
//
// One size is taken for the same values wherever they stand. What a node needs of them may hold at one place, and not at another: then each
// is an unknown of its own.
#pragma once

#include <vector>

#include "thaw/lift/steps.h"
#include "thaw/lift/unknowns/attempt.h"

namespace thaw::lifting {

// Each place at which an operand holds a size that is open. What else is computed of one stays what the size is; so does where an axis is
// cut: whatever stands there, no node speaks against it.
std::vector<Unknown> places_of(const Lifting& lifting, const std::vector<OpenChoice>& open);

// Each place at which an operand holds a size, of this node and of those before it, the nearest first.
std::vector<Unknown> places_before(const Lifting& lifting, const ir::Node* contradicted);

}  // namespace thaw::lifting
