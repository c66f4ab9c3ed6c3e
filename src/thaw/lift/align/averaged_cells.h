// Adaptive pooling that an exporter took apart: recognized by what it computes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

constexpr size_t kRankOfPlaces = 5;  // cells, longest, cells, longest, 2

using Cells = std::array<int64_t, 2>;  // along the last two axes

// The entries that a cell of an axis averages.
struct Window {
  int64_t begin, end;
};
Window window_of(int64_t cell, int64_t cells, int64_t side);

// What a node gathers the entries of cells from: GatherND, by indices [cells, longest, cells, longest, 2], of the last two axes,
// which were brought to the front. Null where it is anything else.
ir::Value* cells_gathered_from(ir::Node& node, const ir::Model& model, const infer::Result& facts);

struct AveragedCells {
  ir::Node* result;  // the node that makes [..., cells, cells]
  Cells cells;
};

// What follows such a node, of data of these sizes, as the average of each cell: a mean where all windows are as long, else what
// is beyond a window masked by 0, all added and divided by how many they are. nullopt where it is anything else.
std::optional<AveragedCells> averaged_cells(const ir::Node& gather, const std::vector<int64_t>& sizes,
                                            const ir::Model& model, const infer::Result& facts);

}  // namespace thaw::lifting
