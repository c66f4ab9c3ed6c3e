// By which numbers the nodes behind a tensor cut it. Internal to lift/.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/lift/around/traced_shapes.h"

namespace thaw::lifting {

// The strides of the next convolution, the steps of the next Slice, the axes of the next Reshape that are the same in all traces. Nodes that move
// elements are passed over.
std::vector<int64_t> windows_after(const TracedShapes& shapes, const ir::Node& node);

// By axis of the node's result, how long the pieces are that a Reshape behind it cuts it into; 0 where none does, or they differ.
std::vector<int64_t> pieces_after(const TracedShapes& shapes, size_t place);

// How long pieces are where a node joins several along an axis: the levels of a pyramid.
JoinedSizes joined_sizes(const TracedShapes& shapes);

}  // namespace thaw::lifting
