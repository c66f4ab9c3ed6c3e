// What nodes pad around what their windows move over, where a Pad before them would do the same.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

struct PaddedWindows {
  double fill = 0;  // 0 of a convolution and of an average that counts what is padded; minus infinity of a maximum
  std::vector<int64_t> kernel;  // along each spatial axis
  std::vector<int64_t> pads;    // before each spatial axis, then after each
};

// Of Conv, MaxPool and AveragePool. nullopt of others, where auto_pad decides or a pad is negative, of a maximum whose place is an
// output, and where the last window may not be whole: what lies in padding then counts otherwise than what lies behind it.
std::optional<PaddedWindows> padded_windows(const ir::Node& node);

}  // namespace thaw::ops
