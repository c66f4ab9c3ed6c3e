// Masks that are made of positions alone, and what they leave of the scores: a band along the diagonal.
#pragma once

#include <optional>
#include <vector>

#include "thaw/math/band.h"
#include "thaw/optimize/attention/heads.h"

namespace thaw::optimizing {

// Query i sees key j where j - i lies in it.
using math::Band;

// Whether of the keys up to its own each query sees at least that one, and of those after it none.
inline bool is_causal(const Band& band) { return band.high == 0 && band.low.value_or(0) <= 0; }

// What all masks together leave, of scores of which each has as many queries as keys. nullopt where one of them is of anything
// but positions: a token that is masked may leave nothing of a row.
std::optional<Band> band_of(const std::vector<FoundMask>& masks, const FoundHeads& heads,
                            const infer::Inference& facts);

}  // namespace thaw::optimizing
