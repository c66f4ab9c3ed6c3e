// Comparing what a model gives with what a reference gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thaw/compare.h"
#include "thaw/run/array.h"
#include "thaw/verify.h"

namespace thaw::run {

using thaw::compare;
using thaw::Comparison;
using thaw::Tolerance;

// Throws thaw::Error for bounds that no comparison can have: negative, NaN, a cosine outside [-1, 1].
void require_tolerance(const Tolerance& tolerance);

}  // namespace thaw::run
