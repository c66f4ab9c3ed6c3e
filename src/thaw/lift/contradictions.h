// Sizes at which a lifted model contradicts itself. Internal to lift/.
//
// Every constant is solved for itself, and few traces leave room for chance: an expression that is right in each may be
// wrong elsewhere. The nodes know better. What inference says that they need of their sizes (the elements of a Reshape,
// broadcasts, the operands of a Concat) is evaluated at sizes that no trace has: from the smallest of the traces' to
// twice the largest, multiples of what all of them are multiples of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/ir/model.h"
#include "thaw/lift/traces.h"

namespace thaw::lift {

struct Contradictions {
  size_t statements = 0;  // that were evaluated
  size_t sizes = 0;       // at so many sizes
  size_t broken = 0;      // nodes
  std::string first;      // "Reshape 'x' needs 3*n = 40 …, which fails at n = 14"
};

Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables);

}  // namespace thaw::lift
