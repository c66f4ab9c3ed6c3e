// What `thaw --help` and `thaw VERB --help` print, and what completion knows of a verb's options.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/cli/verb.h"

namespace thaw::cli {

// A verb's options, declared and not parsed.
std::unique_ptr<CLI::App> make_app(const Verb& verb, Action* action = nullptr);

// "-o, --output"; for a positional argument its name.
std::string names_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);
// What stands for its value: "FILE", "text|json"; without what CLI11 appends for a validator.
std::string type_of(const CLI::Option& option);
// The words that an option's value may be; empty when it is free.
std::vector<std::string> choices_of(const CLI::Option& option);

std::string help_of(const Verb& verb, const CLI::App& app);
std::string help_of_command(std::span<const Verb> verbs);

}  // namespace thaw::cli
