// What two models say of themselves, before their graphs are looked into. Internal to report/.
#pragma once

#include <string>
#include <vector>

#include "thaw/report/model_diff.h"

namespace thaw::report {

// Fills in the header (functions aside), the inputs and outputs and the counts of operators.
void compare_interfaces(const ir::Model& a, const ir::Model& b, ModelDiff& out);

// Adds the difference, where there is one.
void note_difference(std::vector<Difference>& list, std::string what, std::string a, std::string b);

}  // namespace thaw::report
