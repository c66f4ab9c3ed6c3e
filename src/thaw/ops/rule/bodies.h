// The graphs that a node holds, and how many values each takes and returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

struct BodyArity {
  std::string_view attribute;
  size_t inputs = 0;
  size_t least_outputs = 0, most_outputs = std::numeric_limits<size_t>::max();
};

// Those of a node in an opset, by how many operands and results it has.
using BodyRule = std::vector<BodyArity> (*)(const ir::Node&, int64_t opset);

}  // namespace thaw::ops
