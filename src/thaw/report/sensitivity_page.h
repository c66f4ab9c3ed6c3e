// The report of `thaw sensitivity` as a page: errors in the model's order and sorted, a heat map by layer and kind, size against
// error with the best plans, and a table of all nodes, to search and sort.
#pragma once

#include <string>

#include "thaw/sensitivity.h"

namespace thaw::report {

// `plan`, `measured`: what `thaw plan` chose and found, drawn beside the best plans; may be null.
std::string sensitivity_page(const SensitivityReport& report, const MixedPlan* plan, const MeasuredPlan* measured);

}  // namespace thaw::report
