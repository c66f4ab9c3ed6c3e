#include "thaw/cli/progress_line.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace thaw::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

bool is_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void draw(int fd, std::string_view text) {
  // A terminal that cannot be written to is no reason to stop the work.
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
}

}  // namespace

ProgressLine::ProgressLine(std::string what, std::chrono::milliseconds patience, int fd)
    : what_(std::move(what)), fd_(fd), terminal_(is_terminal(fd)), next_(Clock::now() + patience) {}

void ProgressLine::show(uint64_t done, uint64_t total) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  const double share = total == 0 ? 0 : 100.0 * static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  draw(fd_, fmt::format("\r\x1b[K{}{}", what_, total == 0 ? " …" : fmt::format(" {:.0f} %", share)));
}

void ProgressLine::clear() {
  if (!drawn_) return;
  drawn_ = false;
  draw(fd_, "\r\x1b[K");
}

}  // namespace thaw::cli
