// Where in a model a conversion loses accuracy: the outputs of its layers, in both models on the same inputs.
#pragma once

#include "thaw/confirm/conversion.h"
#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"

namespace thaw::confirm {

// Layers are the nodes of the main graph with a weight of two axes or more, whose output both models have by name: a tensor
// that holds something else has another name. Runs both models once, on `run`. Keeps at most 512 MiB of outputs of each model:
// of more, every second layer, or third, and so on. `layers` is empty where a model does not run with these outputs.
LayerComparisons compare_layers(const ir::Model& original, const ir::Model& converted, const FirstRun& run);

}  // namespace thaw::confirm
