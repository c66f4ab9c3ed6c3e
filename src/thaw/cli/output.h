// The ways out: what a verb prints goes to stdout whole, what it has to say on the side goes to stderr.
#pragma once

#include <string_view>

namespace thaw::cli {

// Writes text to stdout. Throws thaw::Error when it cannot be written (a full disk). When the reader has gone (`|
// head`), the process ends as any filter does, by SIGPIPE, also where a parent has that signal ignored.
void write_output(std::string_view text);

}  // namespace thaw::cli
