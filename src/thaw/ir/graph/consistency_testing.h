// For tests: whether what a graph says of itself agrees with itself.
#pragma once

#include <string>

#include "thaw/ir/graph/graph.h"

namespace thaw::ir {

// Walks a graph and its subgraphs; the first disagreement in words, or "" when all is in step: uses against inputs,
// producers against outputs, lists against flags, names against find().
std::string inconsistency(const Graph& graph);

}  // namespace thaw::ir
