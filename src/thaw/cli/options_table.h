// Which verb has which option, as docs/cli.md shows it.
#pragma once

#include <string>

namespace thaw::cli {

// In Markdown: the options that several verbs have by verb, then those that one has.
std::string options_table();

}  // namespace thaw::cli
