// Which nodes compute in 16 bits, so that the fewest bytes are cast.
//
// A labelling of least cost: each node is narrow or wide, some of them fixed; a node costs what it writes more when it is
// wide, an edge between two of different labels the bytes that a Cast reads and writes. Such an energy is least at a minimum
// cut (Greig, Porteous and Seheult 1989), found by augmenting along shortest paths (Dinic 1970).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thaw::quantizing {

enum class Width : uint8_t { kNarrow, kWide, kEither };

struct LabelledNode {
  Width width = Width::kEither;
  double cost_when_wide = 0;  // not negative
};
struct LabelledEdge {
  int a = 0, b = 0;
  double cost_when_different = 0;  // not negative
};

// Of each node, whether it is narrow. Where two labellings cost the same, the one with more narrow nodes.
std::vector<bool> narrow_nodes(std::span<const LabelledNode> nodes, std::span<const LabelledEdge> edges);

}  // namespace thaw::quantizing
