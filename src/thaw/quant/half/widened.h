// A model whose nodes compute in float32 between Casts, while its tensors stay in 16 bits: what runs where a runtime has
// no kernels of the type, and rounds as if it had.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/half/missing_kernels.h"

namespace thaw::quantizing {

// In place, those nodes for which kernels are missing. `type` is kFloat16 or kBfloat16.
void compute_in_float32(ir::Model& model, ir::DataType type, const MissingKernels& missing);

}  // namespace thaw::quantizing
