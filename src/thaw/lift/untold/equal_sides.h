// Axes of one input that are as long as each other in every trace. Internal to lift/.
#pragma once

#include <span>
#include <vector>

#include "thaw/lift/domain/domain.h"

namespace thaw::lifting {

// Axes that are equal in every trace though nothing declares them so. Of the first trace's inputs.
std::vector<EqualSides> equal_sides(const std::vector<Trace>& traces, std::span<const Variable> variables);

// Adds that these are equal where one of the sizes depends on their one variable, or the domain says anything of it: the guard reads one
// axis of the two.
void add_equal_sides(Domain& domain, std::span<const EqualSides> equal, std::span<const dim::Dim> sizes);

}  // namespace thaw::lifting
