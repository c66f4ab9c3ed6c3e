// Models that draw random numbers, as models that return the same in every run.
#pragma once

#include <memory>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// Whether it has a node that draws numbers, in the graphs inside too.
bool draws_numbers(const ir::Model& model);

// A copy. ONNX Runtime seeds each node that draws numbers by where it stands, so that what was made of a model draws others:
// in place of such nodes stands what computes numbers from their positions and from the name of the node's output. One that the
// model's opset has no operators for stays.
std::unique_ptr<ir::Model> with_same_noise(const ir::Model& model);

// The model itself where it has no such node, else that copy, which is kept in `made`.
const ir::Model& with_same_noise(const ir::Model& model, std::unique_ptr<ir::Model>& made);
const ir::Model& with_same_noise(const ir::Model&& model, std::unique_ptr<ir::Model>& made) = delete;

}  // namespace thaw::rewrite
