// Masks that are made of positions alone, and what they leave of the scores: a band along the diagonal.
#pragma once

#include <optional>
#include <vector>

#include "thaw/optimize/attention/heads.h"

namespace thaw::optimizing {

// Query i sees key j where low <= j - i <= high; nullopt: no limit.
struct Band {
  std::optional<int64_t> low = {}, high = {};

  friend bool operator==(const Band&, const Band&) = default;
  // Of the keys up to its own each query sees at least that one, and of those after it none.
  bool is_causal() const { return high == 0 && low.value_or(0) <= 0; }
};

// What all masks together leave, of scores of which each has as many queries as keys. nullopt where one of them is of anything
// but positions: a token that is masked may leave nothing of a row.
std::optional<Band> band_of(const std::vector<FoundMask>& masks, const FoundHeads& heads,
                            const infer::Inference& facts);

}  // namespace thaw::optimizing
