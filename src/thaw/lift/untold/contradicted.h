// Sizes that are whole in every trace, and at which alone the nodes agree. Internal to lift/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/lift/domain/domain.h"

namespace thaw::lifting {

// Adds that a variable is a multiple of what divides it in all traces, the smallest for which the model contradicts itself
// no more, neither at sizes that are drawn nor at these.
void add_contradicted(Domain& domain, const ir::Model& lifted, std::span<const Variable> variables,
                      const std::vector<std::vector<int64_t>>& broken_at);

}  // namespace thaw::lifting
