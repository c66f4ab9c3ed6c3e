#include "thaw/cli/progress_line.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace thaw::cli {
namespace {

std::atomic<int> lines{0};

bool is_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void draw(int fd, std::string_view text) {
  // A terminal that cannot be written to is no reason to stop the work.
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
}

// Where enough has been done to tell, as if the rest went on alike: ", 3 min left".
std::string time_left(ProgressLine::Clock::duration taken, double share) {
  constexpr double kEnoughShare = 2, kEnoughSeconds = 3, kMinute = 60, kHour = 3600;
  const double seconds = std::chrono::duration<double>(taken).count();
  if (share < kEnoughShare || seconds < kEnoughSeconds) return {};
  const double left = seconds * (100 - share) / share;
  if (left < kMinute) return fmt::format(", {:.0f} s left", left);
  if (left < kHour) return fmt::format(", {:.0f} min left", left / kMinute);
  return fmt::format(", {:.1f} h left", left / kHour);
}

}  // namespace

ProgressLine::ProgressLine(std::string what, std::chrono::milliseconds patience, int fd)
    : what_(std::move(what)), fd_(fd), terminal_(is_terminal(fd)), begun_(Clock::now()), next_(begun_ + patience) {
  ++lines;
}

ProgressLine::~ProgressLine() {
  clear();
  --lines;
}

bool ProgressLine::any() { return lines > 0; }
bool ProgressLine::is_shown_on(int fd) { return is_terminal(fd); }

void ProgressLine::show(uint64_t done, uint64_t total) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  const double share = total == 0 ? 0 : 100.0 * static_cast<double>(std::min(done, total)) / static_cast<double>(total);
  draw(fd_, fmt::format("\r\x1b[K{}{}", what_,
                        total == 0 ? " …" : fmt::format(" {:.0f} %{}", share, time_left(now - begun_, share))));
}

void ProgressLine::clear() {
  if (!drawn_) return;
  drawn_ = false;
  draw(fd_, "\r\x1b[K");
}

}  // namespace thaw::cli
