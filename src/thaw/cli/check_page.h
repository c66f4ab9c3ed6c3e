// What `check` found, as a page: the findings by rule with what happens and what mends it, and the graph by module with
// its sizes, where a finding is marked. Of several models what came of each first.
#pragma once

#include <string>
#include <vector>

#include "thaw/cli/checked_file.h"

namespace thaw::cli {

std::string check_page(const std::vector<CheckedFile>& files);

}  // namespace thaw::cli
