// Which sizes of a model are no numbers, and where each comes from.
#pragma once

#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/pin.h"

namespace thaw::pinning {

// One for each cause: what follows from a size that is listed is not listed again.
std::vector<DynamicAxis> open_sizes(const ir::Model& model, const dim::Scope& scope, const infer::Result& facts);

}  // namespace thaw::pinning
