// Findings of one cause, as one finding.
#pragma once

#include <string_view>
#include <vector>

#include "thaw/finding.h"

namespace thaw::checking {

// The detail of a finding that names what several come from.
inline constexpr std::string_view kCause = "cause";

// Those with one cause become one: the worst, by severity and then by code, at the location of the first of these. The others
// are among its `related` locations, and each other code among its `details`. Codes that were not looked for are not there to merge, so
// each code finds its own.
std::vector<Finding> merge_causes(std::vector<Finding> findings);

}  // namespace thaw::checking
