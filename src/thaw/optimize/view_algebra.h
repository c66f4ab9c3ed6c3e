// Views as products of sizes: what a reshaping, a Transpose and a reshaping do to a tensor's axes together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/ops/rule/fact.h"

namespace thaw::optimizing {

// The Transpose that takes `in` to `out` and moves each element as these three do at every size: a reshaping of `in` to `viewed`,
// a Transpose by `permutation`, a reshaping to `out`. nullopt where there is none, or where sizes are not known to be multiples
// of each other.
std::optional<std::vector<int64_t>> as_one_transpose(const ops::Shape& in, const ops::Shape& viewed,
                                                     const std::vector<int64_t>& permutation, const ops::Shape& out);

}  // namespace thaw::optimizing
