// Equations for solving that no rule states, since they need not hold for the node to run.
//
// Axes of a Reshape that stand in a row with constants of its target, [B, 16, 1, n] and [3, 16, 11]; an axis reordered
// by an index that names all its places.
#pragma once

#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::frozen {

std::vector<ops::Obligation> suggested_equations(const infer::NodeVisit& visit);

}  // namespace thaw::frozen
