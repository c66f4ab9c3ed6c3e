// Where a node or value stands, as the plain text of findings and error messages.
#pragma once

#include "thaw/finding.h"
#include "thaw/ir/graph/graph.h"

namespace thaw::ir {

// "Reshape", "com.microsoft.Attention".
std::string operator_name(const Node& node);

// The graph around all that hold this one: a model's main graph, or a function's body.
const Graph& root_of(const Graph& graph);

// The subgraph path of a graph: "If 'cond_1'.then_branch"; empty for a model's main graph and a function's body.
std::string path_of(const Graph& graph);

// The node by its name (its first output's, where it has none), operator and subgraph. The tensor is left empty.
Location location_of(const Node& node);
// The value, and the node that makes it where one does.
Location location_of(const Value& value);

}  // namespace thaw::ir
