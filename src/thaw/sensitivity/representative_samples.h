// The samples that tell most of what a conversion costs, and means over all samples from these alone.
//
// Where an output jumps (a letter that is almost another one, a box that is almost none), a few samples have most of the error,
// and they are the same ones for whatever is converted. With all nodes converted each sample is measured once; what a
// single unit's error is on those that have most of it is then scaled to all: the ratio estimator (Cochran, "Sampling
// Techniques", 1977, chapter 6).
#pragma once

#include <vector>

#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Of samples whose errors are known, the fewest that have four fifths of their sum: four at least, and a third of them at most
// where that is more. In their order.
std::vector<size_t> representative_samples(const std::vector<ErrorFigures>& all, ErrorMetric metric);

// The mean over all samples of what was measured on `which` of them, by the figures `all` of something else that was measured on
// each. `some` has an element for each of `which`.
ErrorFigures mean_by_ratio(const std::vector<ErrorFigures>& some, const std::vector<size_t>& which,
                           const std::vector<ErrorFigures>& all);

}  // namespace thaw::measuring
