// The time that a call has had, for Limits::timeout: the command from its start, a verb of the library from where it begins.
//
//   const CallClock clock;   // once in each verb that has models run; of several in each other the outermost counts
#pragma once

#include <chrono>
#include <optional>

namespace thaw {

class CallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  CallClock();
  CallClock(const CallClock&) = delete;
  CallClock& operator=(const CallClock&) = delete;
  ~CallClock();

  // When the call that this thread works for must be over; nullopt: whenever. A thread that began none works for the call that began
  // last; where there is none, what it asks for is a call by itself.
  static std::optional<Time> end();
  // What fails now says nothing of what failed: who notes failures one by one ends instead.
  static bool is_over();
};

// So long from `begin`, at most some years.
CallClock::Time after_seconds(CallClock::Time begin, double seconds);

}  // namespace thaw
