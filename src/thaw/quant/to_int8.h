// A model's products in 8 bits: what is asked for, given to the room that does it.
#pragma once

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// Raises the opset where it has no scale for each channel. To be called before nodes are looked at.
void raise_opset_for_int8(ir::Model& model, const ConvertOptions& options);

// Every node that is to have 8 bits. `samples` may be null where all of them measure their activations at each run: else throws
// thaw::Error (kInvalidArgument). What the model declares of its tensors is dropped, as it may be wrong.
rewrite::Changes to_int8(ir::Model& model, const ConvertOptions& options, const Precisions& precisions,
                         const Samples* samples);

}  // namespace thaw::quantizing
