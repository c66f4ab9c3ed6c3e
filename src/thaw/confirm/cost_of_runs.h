// What the nodes of a model read, write and compute, as inference tells it.
#pragma once

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/run_cost.h"

namespace thaw::confirm {

// Of one run; bodies of Loops and Scans count as one round.
run::RunCost cost_of_runs(const ir::Model& model, const infer::Result& facts);

// Adds those of what `model` was made of, its inputs as they are declared in `model`: an operator may compute inside what its
// origin has as tensors. `scope` is that of the model.
void add_origin(run::RunCost& cost, const ir::Model& origin, const ir::Model& model, dim::Scope& scope);

}  // namespace thaw::confirm
