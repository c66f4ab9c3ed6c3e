// About how much memory a run of a model takes beside its weights, as inference tells it.
#pragma once

#include <cstdint>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::confirm {

// Bytes at these sizes: several times what the largest node reads and writes, since results wait for those who read
// them and kernels have buffers of their own. What has no known size counts as nothing; saturates.
uint64_t working_bytes(const ir::Model& model, const infer::Result& facts, const dim::Assignment& sizes);

}  // namespace thaw::confirm
