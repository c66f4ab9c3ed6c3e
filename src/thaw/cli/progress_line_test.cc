#include "thaw/cli/progress_line.h"

#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

namespace thaw::cli {
namespace {

using std::chrono::milliseconds;

class Terminal {
 public:
  Terminal() {
    EXPECT_EQ(openpty(&ours_, &theirs_, nullptr, nullptr, nullptr), 0);
    fcntl(ours_, F_SETFL, O_NONBLOCK);
    setenv("TERM", "xterm", 1);
  }
  ~Terminal() {
    close(ours_);
    close(theirs_);
  }
  int fd() const { return theirs_; }
  std::string seen() const {
    char text[4096];
    const ssize_t got = read(ours_, text, sizeof text);
    return got > 0 ? std::string(text, static_cast<size_t>(got)) : "";
  }

 private:
  int ours_ = -1, theirs_ = -1;
};

TEST(ProgressLine, DrawsAndCleansUp) {
  const Terminal terminal;
  {
    ProgressLine line("comparing", milliseconds(0), terminal.fd());
    const ProgressLine::Clock::time_point before = ProgressLine::Clock::now();
    line.show(3, 4);
    line.show(4, 4);  // at once: not drawn again, on a machine that is not too busy for that
    const bool is_at_once = ProgressLine::Clock::now() - before < ProgressLine::kRedraw;
    EXPECT_EQ(terminal.seen(), std::string("\r\x1b[Kcomparing 75 %") + (is_at_once ? "" : "\r\x1b[Kcomparing 100 %"));
  }
  EXPECT_EQ(terminal.seen(), "\r\x1b[K");
}

TEST(ProgressLine, WithoutATotal) {
  const Terminal terminal;
  ProgressLine line("reading", milliseconds(0), terminal.fd());
  line.show(3, 0);
  EXPECT_EQ(terminal.seen(), "\r\x1b[Kreading …");
}

TEST(ProgressLine, ShortWorkDrawsNothing) {
  const Terminal terminal;
  {
    ProgressLine line("comparing", milliseconds(60'000), terminal.fd());
    line.show(1, 2);
  }
  EXPECT_EQ(terminal.seen(), "");
}

TEST(ProgressLine, AFileGetsNothing) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressLine line("comparing", milliseconds(0), ends[1]);
    line.show(1, 2);
  }
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(ProgressLine, ADumbTerminalGetsNothing) {
  const Terminal terminal;
  setenv("TERM", "dumb", 1);
  ProgressLine line("comparing", milliseconds(0), terminal.fd());
  line.show(1, 2);
  EXPECT_EQ(terminal.seen(), "");
}

}  // namespace
}  // namespace thaw::cli
