// One line on a terminal that says what takes so long, from the phases that modules report (core/phase.h); nothing
// elsewhere. It appears after a second, and is gone for good once anything is printed. A ProgressLine, which knows how
// far the work is, goes before it.
#pragma once

namespace thaw::cli {

class WaitingLine {
 public:
  explicit WaitingLine(bool is_wanted);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  // Takes the line away, before anything is printed.
  static void end();
};

}  // namespace thaw::cli
