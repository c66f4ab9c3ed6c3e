// How norms are written as arithmetic. Captured are "x", the reductions "mean" and "variance", the number "epsilon", and
// where a part is a sum and not a mean, "mean share" and "variance share": what it is multiplied by.
#pragma once

#include "thaw/rewrite/match.h"

namespace thaw::optimizing {

enum class MeansBy : uint8_t {
  kMeans,        // ReduceMean
  kMeansOrSums,  // also a sum, of squares too, times a number that has to be one over the count
};

// (x - mean) / sqrt(variance + epsilon); the variance is the mean of (x - mean)^2, or of x^2 less mean^2.
rewrite::Pattern standardized(MeansBy means);
// x inv + (bias - mean inv), inv = weight / sqrt(variance + epsilon): TensorFlow's way. There may be no "weight" and no "bias".
rewrite::Pattern standardized_by_moments(MeansBy means);
// x / sqrt(mean of x^2 + epsilon).
rewrite::Pattern scaled_by_root_mean_square();

}  // namespace thaw::optimizing
