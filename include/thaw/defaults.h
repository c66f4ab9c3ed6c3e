// What `convert` and `sensitivity` do where options leave it open, as the command does it.
#pragma once

#include <optional>

#include "thaw/convert.h"
#include "thaw/export.h"
#include "thaw/optimize.h"
#include "thaw/sensitivity.h"

namespace thaw {

// BlockOptions::method where none is asked for. `has_samples`: ConvertOptions::data is set.
THAW_API BlockMethod default_method(NumberFormat to, bool has_samples, bool real_zeros = false);

// BlockOptions::form where none is asked for; nullopt: no target was asked for either.
THAW_API BlockForm default_form(std::optional<OptimizeTarget> target);

// The precision with what is left to the target where it is not asked for: form and zero points of blocks, types and zero points of
// activations in INT8. `target`: a name of target_names(); empty: none was asked for. Throws thaw::Error (kInvalidArgument) for
// another name.
THAW_API PrecisionOptions default_precision(const PrecisionOptions& precision, const std::string& target);

// SensitivityOptions::metric where none is asked for. `is_folder`: of a folder of models, whose outputs are logits.
THAW_API ErrorMetric default_metric(bool is_folder);

}  // namespace thaw
