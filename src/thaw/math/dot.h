// Sums of products, with the vectors of the processor at hand.
#pragma once

#include <cstddef>

namespace thaw::math {

// The sum of a[i] * b[i].
double dot(const double* a, const double* b, size_t count);

}  // namespace thaw::math
