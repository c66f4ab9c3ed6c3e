// A table of several pieces, as long as those that the model joins somewhere: the levels of a pyramid. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/table/table.h"

namespace thaw::lifting {

struct PiecesAlong {
  size_t axis;
  std::vector<std::vector<ir::Tensor>> pieces;  // each in every trace
};

// The table in each trace, cut along an axis into such pieces: in each way that there is, once they are asked for. Both must stay.
class JoinedPieces {
 public:
  JoinedPieces(std::span<const ir::Tensor* const> tensors, const JoinedSizes& joined)
      : tensors_(tensors), joined_(joined) {}
  const std::vector<PiecesAlong>& ways() const;

 private:
  std::span<const ir::Tensor* const> tensors_;
  const JoinedSizes& joined_;
  mutable std::optional<std::vector<PiecesAlong>> ways_;
};

// A table that is joined of others.
TableFit join(std::vector<TableFit> pieces, size_t axis);

}  // namespace thaw::lifting
