// The samples of a run.
#pragma once

#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Those of options.data. What is measured of one model's tensors holds for its next conversion, where none of the conversions changes
// them first. Throws thaw::Error where the options name none.
quantizing::Samples open_samples(const SensitivityOptions& options, const quantizing::OpenSamples& open,
                                 const ir::Model& model);

}  // namespace thaw::measuring
