// Grids that are shorter than a window in no trace. Internal to lift/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thaw/lift/steps.h"

namespace thaw::lifting {

// Sizes that are filled up to whole windows, and are shorter than one in no trace: code may shrink its windows to those that are (Swin).
// filled: what Pads add for that, and what was guessed. loops: lengths of windows that are cut one by one, of which the last may be short.
std::vector<Limit> window_limits(std::span<const dim::Dim> emitted, std::span<const dim::Dim> filled,
                                 std::span<const int64_t> loops, std::span<const Variable> variables);

// Of what was written: what Pads add to fill windows of a grid, along two axes or more, and what was guessed. Chunks of a sequence are filled up
// at any length, and what a kernel steps over is no window of its own.
std::vector<Limit> window_limits(const Lifting& lifting);

}  // namespace thaw::lifting
