// Following the numbers of a value to whoever reads them.
#pragma once

#include <functional>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::infer {

// Calls visit for each read of the value, and of what operators make of it that pass numbers on as they are (moved,
// converted, chosen). Nodes whose operator is not known are passed over.
void visit_reads(const ir::Value& value, const std::function<void(const ir::Use&, const ops::Operator&)>& visit);

}  // namespace thaw::infer
