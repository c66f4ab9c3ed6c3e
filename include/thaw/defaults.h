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

// SensitivityOptions::metric where none is asked for. `is_folder`: of a folder of models, whose outputs are logits.
THAW_API ErrorMetric default_metric(bool is_folder);

}  // namespace thaw
