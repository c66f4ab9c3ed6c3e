// How often a node runs the graphs that it holds, as an expression of the inputs' sizes.
#pragma once

#include "thaw/dim/expr/dim.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/node_view.h"

namespace thaw::ops {

// An operator's rule, of one of the node's graphs.
using RoundsRule = dim::Dim (*)(NodeView&, const ir::Graph&);

// Unknown where nothing tells. Of an If whose condition is not known, 1 for either branch: at most that.
dim::Dim rounds_of(NodeView& view, const ir::Graph& inner);

}  // namespace thaw::ops
