// The graphs that a node holds, and how many values each takes and returns.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace thaw::ops {

struct BodyArity {
  std::string_view attribute;
  size_t inputs = 0;
  size_t least_outputs = 0, most_outputs = std::numeric_limits<size_t>::max();
};

}  // namespace thaw::ops
