// Cut points: positions between nodes that few bytes pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/split.h"
#include "thaw/split/stages.h"

namespace thaw::splitting {

// Behind a node, in the model's order.
struct CutPosition {
  Cut passing;     // made before, read behind
  dim::Dim bytes;  // unknown where a size is
  // Bytes at the sizes, with those of inputs that are read on both sides; infinite where that is not known.
  double estimated_bytes = 0;
  uint64_t weights_before = 0;
  double flops_before = 0;  // at the sizes, of the nodes whose cost is known
};

struct CutPositions {
  std::vector<CutPosition> all;  // in order; those that nothing passes are left out
  uint64_t weights = 0;
  double flops = 0;
};

// Costs are computed at `sizes`, by symbol, and at 64 for the others. Sizes that are computed do not count as passing: parts
// compute them anew.
CutPositions find_cut_positions(const ir::Model& model, dim::Scope& scope, const infer::Result& facts,
                                const Passings& passings, const NamedSizes& sizes);

// The narrowest near each of `parts` - 1 even shares. Throws thaw::Error where there are not that many.
std::vector<Cut> balanced_cuts(const CutPositions& positions, size_t parts, SplitBalance balance);

// Some dozen narrow ones, spread over the model.
std::vector<const CutPosition*> narrow_cut_positions(const CutPositions& positions);

}  // namespace thaw::splitting
