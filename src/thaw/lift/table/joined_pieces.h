// A table of several pieces, as long as those that the model joins somewhere: the levels of a pyramid. Internal to lift/.
#pragma once

#include <span>
#include <vector>

#include "thaw/lift/table/table.h"

namespace thaw::lifting {

struct PiecesAlong {
  size_t axis;
  std::vector<std::vector<ir::Tensor>> pieces;  // each in every trace
};

// The table in each trace, cut along an axis into such pieces: in each way that there is.
std::vector<PiecesAlong> joined_pieces(std::span<const ir::Tensor* const> tensors, const JoinedSizes& joined);

// A table that is joined of others.
TableFit join(std::vector<TableFit> pieces, size_t axis);

}  // namespace thaw::lifting
