// Recurrences that an exporter wrote out step by step: which node of a step is which node of the step before.
//
// Two values that are made alike, one a step after the other, are followed back side by side: what makes the one stands
// for what makes the other, operand by operand. Where a state is carried, that leads from the later step to the one
// before it, and so on to the first: the nodes of a step are paired with those of the step before, all the way. What
// does not fit ends the walk there; whether what was found is one body, unrolled, is asked later (unrolled_body.h).
#pragma once

#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

// A node of the body as it stands in each step, in the order of the steps.
struct Strand {
  std::vector<ir::Node*> nodes;  // nodes[i] is of step first + i
  int64_t first = 0;
  int64_t end() const { return first + static_cast<int64_t>(nodes.size()); }
  ir::Node* at(int64_t step) const { return nodes[static_cast<size_t>(step - first)]; }
};

// The strands of one recurrence, in the order of their nodes of one step. A step reads what it makes itself and what
// steps before it made.
using Strands = std::vector<Strand>;

// The recurrences of a graph, the last first. Costs what the graph has of nodes. A node that stands for two, as their
// first states are equal, is written twice.
std::vector<Strands> find_strands(ir::Graph& graph);

}  // namespace thaw::lifting
