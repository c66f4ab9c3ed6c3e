// How often a node runs the graphs that it holds, as an expression of the inputs' sizes.
#pragma once

#include "thaw/dim/expr/dim.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// Unknown where nothing tells. Of an If whose condition is not known, 1 for either branch: at most that.
dim::Dim rounds_of(NodeView& view, const ir::Graph& inner);

}  // namespace thaw::ops
