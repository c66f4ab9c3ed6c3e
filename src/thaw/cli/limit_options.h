// Options of every verb that opens a model: what the call may spend on it (thaw/limits.h).
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace thaw::cli {

enum class Runs : uint8_t { kModels, kNothing };  // whether the verb has models run, which --timeout is about

// The limits take effect once the options are parsed.
void add_limits(CLI::App& app, Runs runs = Runs::kModels);

}  // namespace thaw::cli
