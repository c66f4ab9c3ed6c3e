// What the values of a model hold, over samples: measured inside the runtime, so that nothing is kept but four numbers a value.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/half/float32_fallback.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// Of every tensor of float32 that the main graph's inputs and nodes hold and that has elements; by values of `model`.
// Throws thaw::Error where the model does not run on a sample.
SeenRanges seen_ranges(const ir::Model& model, const Samples& samples);

}  // namespace thaw::quantizing
