// What nodes pad around what their windows move over, where a Pad before them would do the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

// Sides of the windows that a node moves, along each spatial axis: as it says, or of its weight. Empty where neither tells.
std::vector<int64_t> window_kernel(const ir::Node& node);

// An attribute with a number for each of so many axes or ends; all the same where it is not given.
std::vector<int64_t> numbers_or(const ir::Node& node, std::string_view attribute, size_t count, int64_t otherwise);

struct PaddedWindows {
  double fill = 0;  // 0 of a convolution and of an average that counts what is padded; minus infinity of a maximum
  std::vector<int64_t> kernel, strides, dilations;  // along each spatial axis
  std::vector<int64_t> pads;                        // before each spatial axis, then after each
};

// Of Conv, MaxPool and AveragePool. nullopt of others, where auto_pad decides or a pad is negative, of a maximum whose place is an
// output, and where the last window may not be whole: what lies in padding then counts otherwise than what lies behind it.
std::optional<PaddedWindows> padded_windows(const ir::Node& node);

}  // namespace thaw::ops
