// Shape -> Gather -> Unsqueeze -> Concat -> Reshape: nodes that compute what a constant of 0 and -1 says as well.
//
// `check` finds such chains and `fix` shortens them; both ask here.
#pragma once

#include <optional>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/infer/infer.h"

namespace thaw::infer {

struct ShapeChain {
  std::vector<int64_t> target;  // what says the same
  int nodes = 0;                // that serve nothing but the computed target, at least two
};

// What could stand for the computed target of a Reshape; nullopt where nothing could, or where no nodes would go. A size
// is written as a number only where `literals` (infer_literals) has it: one that was read from a shape may be frozen
// elsewhere, and would be frozen twice.
std::optional<ShapeChain> shape_chain(const ir::Node& node, const Result& result, const Result& literals);

}  // namespace thaw::infer
