// Why a node's weights do not come to lie in blocks.
#pragma once

#include <string>

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing::blocks {

// A clause, of a node that is no candidate (converter.h): "its weight stands on the left". Empty of a node that has no
// weights, and neither multiplies nor looks up.
std::string why_no_candidate(const ir::Node& node);

}  // namespace thaw::quantizing::blocks
