// The inputs of a model as the verbs that run one need them: types, sizes by the names that `thaw inspect` prints.
#pragma once

#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/feeds.h"

namespace thaw::confirm {

// Inputs in the model's order, with dims as expressions of `scope`, bounds on integers that index a table, and which of
// them have a default (an initializer of the same name).
std::vector<run::InputSpec> model_inputs(const ir::Model& model, dim::Scope& scope);

}  // namespace thaw::confirm
