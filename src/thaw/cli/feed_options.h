// The options that say how images and recordings become what a model is fed, of `inputs` and of verbs that take samples.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/inputs.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::cli {

// --for, --size, --resize, --mean, …: all but what names the model and the files.
void add_feed_options(CLI::App& app, InputsOptions& options);

// --fps, which is of clips alone.
void add_frame_rate(CLI::App& app, std::optional<double>& rate);

// Whether one of them was given.
bool has_feed_options(const CLI::App& app);

// Those that were given, as words of a command ("--resize=height:48"), and what such words mean. The second throws thaw::Error
// (kInvalidFile) for other words.
std::vector<std::string> feed_words(const CLI::App& app);
InputsOptions feed_of(const std::vector<std::string>& words);

// Where one was given: --data's files as samples of the model, made as the options say. Else empty.
quantizing::OpenSamples open_fed(const CLI::App& app, const InputsOptions& options, const ir::Model& model);

// The same for words that a report has, where no option was given; folders of .npz files are read as these.
quantizing::OpenSamples open_fed(const CLI::App& app, const InputsOptions& options,
                                 const std::vector<std::string>& reported, const ir::Model& model);

}  // namespace thaw::cli
