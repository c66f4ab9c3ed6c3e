// Sensitivity measured: what happens to the outputs when one unit is converted, or all but one.
//
// Activations of the float32 run are kept where the model is cut into sections. A converted unit changes some nodes of one
// section, as a rule; that section runs as it became, and those behind it run over what it made. What is in front never
// runs again. The figures are those of N converted models that run whole.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// `parts`: of a folder's models, joined. Samples are those of open(options.data).
SensitivityReport measure(const ir::Model& model, const SensitivityOptions& options,
                          const quantizing::OpenSamples& open = {}, const std::vector<std::string>& parts = {});

// A plan's own error, on `data` or the report's samples; what conversions need to see are the report's in any case.
MeasuredPlan measure_plan(const ir::Model& model, const SensitivityReport& report, const MixedPlan& plan,
                          const std::filesystem::path& data, const quantizing::OpenSamples& open = {});

}  // namespace thaw::measuring
