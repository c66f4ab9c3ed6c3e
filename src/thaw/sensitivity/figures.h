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

// Whether a number that a file holds may be a figure: 0 or more, but for rounding.
inline bool is_error_figure(double figure) { return figure > -1e-3; }

// Over samples, and of one metric: estimate() without its interval, which takes a thousand resamples.
ErrorFigures mean_of(const std::vector<ErrorFigures>& samples);
double mean_figure(const std::vector<ErrorFigures>& samples, ErrorMetric metric);

}  // namespace thaw::measuring
