// What `check` found, as a page: the findings by rule with what happens and what mends it, and the graph by module with
// its sizes, where a finding is marked.
#pragma once

#include <string>
#include <vector>

#include "thaw/check.h"
#include "thaw/ir/graph/model.h"

namespace thaw::cli {

std::string check_page(const std::string& path, const ir::Model& model, const CheckReport& report);

}  // namespace thaw::cli
