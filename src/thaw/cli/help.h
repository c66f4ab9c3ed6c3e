// What `thaw --help` and `thaw VERB --help` print.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/cli/options.h"
#include "thaw/cli/verb.h"
#include "thaw/report/style.h"

namespace thaw::cli {

// Options that every verb has.
struct CommonOptions {
  bool quiet = false, verbose = false;
  report::Style::Choice color = report::Style::Choice::kAuto;
};

// A verb's options, declared and not parsed. `common` must outlive them.
std::unique_ptr<Options> declared(const Verb& verb, Action* action = nullptr, CommonOptions* common = nullptr);

// The headings of a verb's options, in the order of --help.
std::vector<std::string> headings_of(const std::vector<OptionInfo>& all);

std::string help_of(const Verb& verb, const Options& options);        // --help: all
std::string short_help_of(const Verb& verb, const Options& options);  // -h: a screen
std::string help_of_command(std::span<const Verb> verbs);

}  // namespace thaw::cli
