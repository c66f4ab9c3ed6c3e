// Shape -> Gather -> Unsqueeze -> Concat -> Reshape: nodes that compute what a constant of 0 and -1 says as well.
//
// `check` finds such chains and `fix` shortens them; both ask here.
#pragma once

#include <optional>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/infer/infer.h"

namespace thaw::infer {

// The constant target of a Reshape that does the same as a computed one; empty where there is none. `in` and `out` are
// the shapes of its data and its output. It has none where an output dim is a constant 0, where two dims stand at axes
// that are new, or where the one left to -1 does not follow from the others.
std::vector<int64_t> constant_target(const std::vector<dim::Dim>& in, const std::vector<dim::Dim>& out);

struct ShapeChain {
  std::vector<int64_t> target;  // what says the same
  int nodes = 0;                // that serve nothing but the computed target, at least two
};

// What could stand for the computed target of a Reshape; nullopt where nothing could, or where no nodes would go.
std::optional<ShapeChain> shape_chain(const ir::Node& node, const Result& result);

}  // namespace thaw::infer
