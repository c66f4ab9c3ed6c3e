// The options that say how images and recordings become what a model is fed, of `inputs` and of verbs that take samples.
#pragma once

#include <CLI/CLI.hpp>

#include "thaw/inputs.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::cli {

// --for, --size, --resize, --mean, …: all but what names the model and the files.
void add_feed_options(CLI::App& app, InputsOptions& options);

// Whether one of them was given.
bool has_feed_options(const CLI::App& app);

// Where one was given: --data's files as samples of the model, made as the options say. Else empty.
quantizing::OpenSamples open_fed(const CLI::App& app, const InputsOptions& options, const ir::Model& model);

}  // namespace thaw::cli
