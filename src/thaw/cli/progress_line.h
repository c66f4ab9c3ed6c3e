// One line on a terminal that says how far long work is; nothing elsewhere.
//
//   ProgressLine line("comparing weights");
//   options.progress = [&](uint64_t done, uint64_t total) { line.show(done, total); };
//
// It appears once the work has taken a while, says how much time is left where that can be told, is redrawn a few times a second at most, and is gone when it is
// destroyed, so that what is printed afterwards stands on a clean line. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace thaw::cli {

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPatience{400}, kRedraw{100};

  // `fd` is where it is drawn; stderr, unless a test says otherwise.
  explicit ProgressLine(std::string what, std::chrono::milliseconds patience = kPatience, int fd = 2);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `done` of `total` (0: not known) steps, whatever a step is.
  void show(uint64_t done, uint64_t total);
  void clear();

  static bool any();                // whether there is one
  static bool is_shown_on(int fd);  // whether it would be drawn there

 private:
  std::string what_;
  int fd_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point begun_, next_;
};

}  // namespace thaw::cli
