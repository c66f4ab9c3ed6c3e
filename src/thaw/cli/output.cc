#include "thaw/cli/output.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include <unistd.h>

#include "thaw/cli/waiting_line.h"
#include "thaw/core/error.h"
#include "thaw/report/fit.h"
#include "thaw/report/fold.h"
#include "thaw/report/style.h"

namespace thaw::cli {

namespace {

OutputMode output_mode = OutputMode::kAsItIs;
std::string kept_back;

void write_whole_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
      _exit(128 + SIGPIPE);  // where the signal is blocked
    } else if (errno != EINTR) {
      throw Error(ErrorCode::kCannotWrite, {.what = std::string("cannot write: ") + std::strerror(errno),
                                            .where = "standard output",
                                            .expected = {},
                                            .next = {}});
    }
  }
}

void write_fitted(std::string_view text) {
  const size_t columns = report::columns_of(STDOUT_FILENO);
  const report::Style style = report::Style::of(STDOUT_FILENO);
  write_whole_output(report::fit(report::dress_outcomes(report::fold_expressions(text, columns), style), columns));
}

}  // namespace

TextOptions text_options(bool all) { return {.all = all, .colour = report::Style::of(STDOUT_FILENO).colour()}; }

void set_output_mode(OutputMode mode) { output_mode = mode; }

void end_output(int exit_code) {
  if (exit_code != 0) write_fitted(kept_back);
  kept_back.clear();
}

void write_output(std::string_view text) {
  WaitingLine::end();
  switch (output_mode) {
    case OutputMode::kAsItIs:
      return write_whole_output(text);
    case OutputMode::kText:
      return write_fitted(text);
    case OutputMode::kQuiet:
      kept_back.append(text);
  }
}

}  // namespace thaw::cli
