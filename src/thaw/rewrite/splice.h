// Moving a subgraph's nodes into the graph around it.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::rewrite {

// Whether all that the graph holds can move.
bool can_splice(const ir::Graph& inner);

// Adds the node's operator with its attributes on other operands; before another node, or at the end.
ir::Node* copy_node(const ir::Node& node, ir::Graph& to, std::vector<ir::Value*> inputs,
                    std::vector<ir::Value*> outputs, std::string name, ir::Node* before = nullptr);

// What a node is called by; its first output where it has no name.
std::string name_of(const ir::Node& node);

// Moves nodes and initializers of a subgraph of `node` before the node. Values keep their names as far as they are
// free; nodes are called "prefix/name", since a name stands once in a graph. Afterwards the subgraph's outputs are
// values of the graph around it; the node stands as it did, and must go. The subgraph takes no inputs.
void splice(ir::Graph& inner, ir::Node* node, const std::string& prefix);

// The node's outputs are these values instead, those of a graph output under its name, and the node is removed.
void replace_node(ir::Node* node, const std::vector<ir::Value*>& results);

}  // namespace thaw::rewrite
