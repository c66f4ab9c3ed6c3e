// A model cut where that changes nothing: ONNX Runtime computes several nodes as one, and, cut apart, they may round otherwise.
#pragma once

#include <memory>

#include "thaw/sensitivity/baseline.h"

namespace thaw::measuring {

// In about so many sections, of cuts whose outputs are bit by bit those of the whole model on `feeds`, which is kept as
// sample 0; whole where there are none. samples: how many there will be about.
std::unique_ptr<Baseline> split_with_check(const ir::Model& model, size_t sections, size_t samples,
                                           CachedArrays::Memory& memory, const Arrays& feeds);

}  // namespace thaw::measuring
