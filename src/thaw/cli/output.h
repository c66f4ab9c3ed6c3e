// The ways out: what a verb prints goes to stdout whole, what it has to say on the side goes to stderr.
#pragma once

#include <cstdint>
#include <string_view>

#include "thaw/report.h"

namespace thaw::cli {

// How what is printed is for people.
enum class OutputMode : uint8_t {
  kAsItIs,  // for programs: JSON, scripts
  kText,    // fitted to the terminal, where it goes to one
  kQuiet,   // kept back, and printed where there is something wrong
};
void set_output_mode(OutputMode mode);
// Prints what kQuiet kept back, where the exit code says that there is something to see.
void end_output(int exit_code);

enum class Format : uint8_t { kText, kJson, kSarif, kGithub, kGitlab };

// How text is printed here: in colour where stdout has it.
TextOptions text_options(bool all = false);

// Writes text to stdout. Throws thaw::Error when it cannot be written (a full disk). When the reader has gone (`|
// head`), the process ends as any filter does, by SIGPIPE, also where a parent has that signal ignored.
void write_output(std::string_view text);

// Prints a verb's report. `all`: every item of its lists.
template <typename Report>
void print(const Report& report, Format format, bool all = false) {
  write_output(format == Format::kJson ? to_json(report) : to_text(report, text_options(all)));
}

}  // namespace thaw::cli
