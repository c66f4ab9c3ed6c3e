// The projections to q, k and v of one attention: products with weights that read one value and meet in it.
#pragma once

#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

// Groups of nodes of the main graph, each in the graph's order; a node is in one at most. Attention is one operator, or two
// products of activations of which the second reads what the first makes.
std::vector<std::vector<const ir::Node*>> attention_projections(const ir::Model& model);

}  // namespace thaw::quantizing
