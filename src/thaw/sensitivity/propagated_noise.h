// The noise that a value carries on, beside what it was.
#pragma once

#include <optional>

#include "thaw/run/array.h"

namespace thaw::measuring {

// Sums of squares, as shares of the value's own.
struct PropagatedNoise {
  double common = 0;     // what all tokens, or all positions of an image, have in common
  double differing = 0;  // the rest
  double all() const { return common + differing; }
};

// Tokens lie along the last axis but one, [..., tokens, width]; positions along the last two of four axes,
// [batch, channels, height, width]. nullopt where one has a NaN or an infinity that the other has not, or another shape.
std::optional<PropagatedNoise> propagated_noise(const Array& wanted, const Array& got);

}  // namespace thaw::measuring
