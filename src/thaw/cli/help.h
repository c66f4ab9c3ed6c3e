// What `thaw --help` and `thaw VERB --help` print, and what completion knows of a verb's options.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/cli/verb.h"
#include "thaw/report/style.h"

namespace thaw::cli {

// Options that every verb has.
struct CommonOptions {
  bool quiet = false, verbose = false;
  report::Style::Choice color = report::Style::Choice::kAuto;
};

// A verb's options, declared and not parsed. `common` must outlive the app.
std::unique_ptr<CLI::App> make_app(const Verb& verb, Action* action = nullptr, CommonOptions* common = nullptr);

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
