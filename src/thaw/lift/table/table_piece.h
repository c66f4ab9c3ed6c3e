// Pieces of a table along one axis, each as a table of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/lift/table/table.h"

namespace thaw::lifting {

// Whether its entries are whole bytes: not strings, nor types of a few bits.
bool can_be_cut(const ir::Tensor& table);

// The entries [begin, begin + count) of an axis.
ir::Tensor piece_along(const ir::Tensor& table, size_t axis, int64_t begin, int64_t count);

struct PiecesAlong {
  size_t axis;
  std::vector<std::vector<ir::Tensor>> pieces;  // each in every trace
};

// The table in each trace, cut along an axis into pieces as long as those that the model joins somewhere: in each way that there is.
std::vector<PiecesAlong> joined_pieces(std::span<const ir::Tensor* const> tensors, const JoinedSizes& joined);

std::vector<const ir::Tensor*> pointers_to(const std::vector<ir::Tensor>& tensors);

// A table that is joined of others.
TableFit join(std::vector<TableFit> pieces, size_t axis);

}  // namespace thaw::lifting
