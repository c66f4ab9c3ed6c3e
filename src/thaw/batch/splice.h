// Moving a subgraph's nodes into the graph around it. Internal to batch/.
#pragma once

#include "thaw/ir/graph.h"

namespace thaw::batch {

// Whether all that the graph holds can move.
bool can_splice(const ir::Graph& inner);

// Moves nodes and initializers of a subgraph of `node` before the node, under their names. Afterwards the subgraph's
// outputs are values of the graph around it; the node stands as it did, and must go. The subgraph takes no inputs.
void splice(ir::Graph& inner, ir::Node* node);

// The node's outputs are these values instead, those of a graph output under its name, and the node is removed.
void replace_node(ir::Node* node, const std::vector<ir::Value*>& results);

}  // namespace thaw::batch
