// How a node runs the graphs that it holds, and what becomes of what they return.
#pragma once

#include <cstdint>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

enum class GraphRuns : uint8_t {
  kBranch,  // one of them, once: its results are the node's
  kRounds,  // the one it has, again and again: what that returns last is stacked, a position for each round
  kOther,   // otherwise: it has no more results than its operator says
};

struct RunsGraphs {
  GraphRuns how = GraphRuns::kOther;
  int kept = 0;  // of what a graph returns first, so many are no results of the node: a Loop's condition
};

RunsGraphs runs_graphs(const ir::Node& node);

}  // namespace thaw::ops
