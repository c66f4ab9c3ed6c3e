#include "thaw/cli/output.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "thaw/core/error.h"

namespace thaw::cli {

void write_output(std::string_view text) {
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

}  // namespace thaw::cli
