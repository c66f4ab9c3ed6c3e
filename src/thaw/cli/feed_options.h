// The options that say how images and recordings become what a model is fed, of `inputs` and `convert`.
#pragma once

#include <CLI/CLI.hpp>

#include "thaw/inputs.h"

namespace thaw::cli {

// --for, --size, --resize, --mean, …: all but what names the model and the files.
void add_feed_options(CLI::App& app, InputsOptions& options);

// Whether one of them was given.
bool has_feed_options(const CLI::App& app);

}  // namespace thaw::cli
