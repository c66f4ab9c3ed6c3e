// Shape -> Gather -> Unsqueeze -> Concat -> Reshape: nodes that compute what a constant of 0 and -1 says as well.
//
// `check` finds such chains and `fix` shortens them; both ask here.
#pragma once

#include <optional>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/infer/infer.h"

namespace thaw::infer {

// Whether the node is a Reshape whose target nodes compute.
bool has_computed_target(const ir::Node& node);

// What could stand for the computed target of a Reshape, of 0 and -1 and of numbers of the file, also for tensors without
// elements where the node has allowzero; nullopt where nothing could. A size is written as a number only where `literals` (infer_literals) has it: one that was read from a shape may
// be frozen elsewhere, and would be frozen twice.
std::optional<std::vector<int64_t>> constant_target(const ir::Node& node, const Result& result, const Result& literals);

// Gives a Reshape such a target, whose 0 is a copy whatever it was before.
void set_constant_target(ir::Node& node, ir::Value* target);

struct ShapeChain {
  std::vector<int64_t> target;  // what says the same
  int nodes = 0;                // that serve nothing but the computed target, at least two
};

// The same, where nodes would go with the target; nullopt where none would.
std::optional<ShapeChain> shape_chain(const ir::Node& node, const Result& result, const Result& literals);

}  // namespace thaw::infer
