// Options of `thaw convert` that one precision has and another lacks.
#pragma once

#include <CLI/CLI.hpp>

#include "thaw/convert.h"

namespace thaw::cli {

// Throws thaw::Error (kInvalidArgument) where an option was given that says nothing of what the model is converted to: it
// would be taken, and change nothing.
void require_fitting(const CLI::App& app, const PrecisionOptions& precision);

}  // namespace thaw::cli
