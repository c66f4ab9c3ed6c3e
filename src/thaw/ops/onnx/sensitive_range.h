// Which numbers a node distinguishes: what lies beyond evaluates, as near as 8 bits see it, to what the nearest of them does.
#pragma once

#include <limits>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

struct SensitiveRange {
  double lowest = -std::numeric_limits<double>::infinity(), highest = std::numeric_limits<double>::infinity();
};

// Of operand `operand`: a Relu tells none apart below 0, a HardSwish none below -3. Without limits where the node is none that
// is known. Of sigmoids and what is made of them, which never end, what is left out changes the result by less than 3e-4.
// Such a gate behind a value is known in its product with the value too: x * Sigmoid(x).
SensitiveRange sensitive_range(const ir::Node& node, int operand);

}  // namespace thaw::ops
