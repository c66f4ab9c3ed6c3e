// What a target says of a result that was made for it, asked before it is written: what `check --target` would find.
#pragma once

#include <string_view>
#include <vector>

#include "thaw/finding.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/target/target.h"

namespace thaw::verbs {

// By the rules of targets alone, notes too.
std::vector<Finding> findings_of_target(const ir::Model& result, std::string_view target);

ops::TargetVerdict verdict_of(const ir::Model& result, std::string_view target);

}  // namespace thaw::verbs
