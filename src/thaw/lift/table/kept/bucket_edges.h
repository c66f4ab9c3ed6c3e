// Where buckets of distances end, beyond what the traces show.
//
// Relative attention puts near distances into buckets of their own and far ones into buckets that grow by one factor:
// bucket j begins at b * r^j, rounded to the next integer (T5: ceil; DeBERTa: floor and one more). Which numbers b and r
// may be follows from where the buckets in the traces begin, and from those, between which distances the next one does.
// Internal to lift/.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace thaw::lifting {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

// starts: the distances at which another bucket begins, 0 first, ascending; reach: the largest distance seen. The last
// distance that is certainly in the bucket of `reach`: kNoEnd where the next one would have begun by now, which is then
// the last bucket. nullopt where the starts go with no such factor, or are too few to tell.
std::optional<int64_t> end_of_last_bucket(std::span<const int64_t> starts, int64_t reach);

}  // namespace thaw::lifting
