// Into how many parts a graph falls where some of its nodes run elsewhere. Internal to check/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace thaw::checking {

enum class Side : uint8_t { kTarget, kElsewhere };

// Parts of nodes on the target that are connected, and that nothing leaves and comes back to: each may run in one piece. `sides` is
// by node, in an order in which edges lead forward only.
size_t count_islands(const std::vector<Side>& sides, const std::vector<std::pair<size_t, size_t>>& edges);

}  // namespace thaw::checking
