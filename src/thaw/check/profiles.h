// Optimization profiles: the least, best and largest shape of each input. Internal to check/.
#pragma once

#include <vector>

#include "thaw/check/check.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/infer/infer.h"

namespace thaw::checking {

// Of the inputs that have free sizes. Throws thaw::Error for a size without a range that ends, or without a best one in it.
std::vector<ShapeProfile> profiles_of(const ir::Model& model, const infer::Result& inferred, const dim::Scope& scope,
                                      const dim::SpecGroup& sizes, const NamedSizes& opt);

}  // namespace thaw::checking
