// How far the outputs of one run are from those of another, in the figures that nodes are ranked by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thaw/run/array.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Of one output. Elements of `wanted` that are NaN or infinite, as masks leave them, are passed over. nullopt where `got` has one
// elsewhere, or another shape.
std::optional<ErrorFigures> figures_of(const Array& wanted, const Array& got);

// Of all outputs that `wanted` has: the mean. nullopt where one is broken, missing or of another shape.
std::optional<ErrorFigures> figures_of(const Arrays& wanted, const Arrays& got);

// Over samples, and of one metric: estimate() without its interval, which takes a thousand resamples.
ErrorFigures mean_of(const std::vector<ErrorFigures>& samples);
double mean_figure(const std::vector<ErrorFigures>& samples, ErrorMetric metric);

}  // namespace thaw::measuring
