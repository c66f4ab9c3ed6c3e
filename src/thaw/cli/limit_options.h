// Options of every verb that opens a model: what the call may spend on it (thaw/limits.h).
#pragma once

#include <CLI/CLI.hpp>

namespace thaw::cli {

// The limits take effect while the options are parsed.
void add_limits(CLI::App& app);

}  // namespace thaw::cli
