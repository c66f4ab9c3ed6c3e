// Which nodes read a weight that may lie in blocks: products with a constant matrix, and lookups in one. And why others do not.
#pragma once

#include <optional>
#include <string>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/weights/stored_weight.h"

namespace thaw::quantizing::blocks {

// The constant that such a node reads, of two axes or more; `transposed`: its rows are the columns of the product, as a lookup's
// are. None for other nodes.
std::optional<StoredWeight> weight_of(const ir::Node& node);

inline bool is_candidate(const ir::Node& node) { return weight_of(node).has_value(); }

// The value whose rows a product sums over, of which statistics are wanted; null for other nodes.
ir::Value* summed_input(const ir::Node& node);

// Of a node that is no candidate, a clause: "its weight stands on the left". Empty of one that has no weights, and neither
// multiplies nor looks up.
std::string why_no_candidate(const ir::Node& node);

}  // namespace thaw::quantizing::blocks
