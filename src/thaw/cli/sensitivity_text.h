// What `thaw sensitivity` and `thaw plan` print.
#pragma once

#include <string>

#include "thaw/sensitivity.h"

namespace thaw::cli {

std::string sensitivity_text(const SensitivityReport& report, const std::string& folder);

// "3.2e-05", or "41.3 dB".
std::string figure_text(double figure, ErrorMetric metric);
std::string megabytes(double bytes);

}  // namespace thaw::cli
