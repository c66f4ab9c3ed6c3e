// The model with all units of a precision converted, cut so that one of them is taken back at the cost of what lies behind it.
#pragma once

#include <memory>
#include <vector>

#include "thaw/sensitivity/kept_samples.h"

namespace thaw::measuring {

// In about so many sections where they give what it gives whole (`figures`, by sample) on every sample; else in one.
std::unique_ptr<Baseline> cut_converted(const ir::Model& converted, size_t sections, const KeptSamples& samples,
                                        const std::vector<ErrorFigures>& figures);

// ONNX Runtime gives convolutions the layout that suits what stands around them, and each layout rounds otherwise: enough for a code
// of 8 bits to become the next one, on a sample of many. A model of both runs whole each time.
bool rounds_by_layout(const ir::Model& model, const PrecisionOptions& precision);

}  // namespace thaw::measuring
