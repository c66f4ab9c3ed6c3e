#include "thaw/core/call_clock.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "thaw/core/cancel.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/limits.h"

namespace thaw {
namespace {

using Time = CallClock::Time;

struct CallUnderWay {
  std::thread::id thread;
  Time begun;
  int depth;
};

struct CallsUnderWay {
  ForkMutex mutex;
  std::vector<CallUnderWay> calls;
};

// Never destroyed: a call may end while the process does.
CallsUnderWay& calls_under_way() {
  static auto& calls = *new CallsUnderWay;
  return calls;
}

std::vector<CallUnderWay>::iterator own_call(CallsUnderWay& all) {
  return std::ranges::find(all.calls, std::this_thread::get_id(), &CallUnderWay::thread);
}

}  // namespace

CallClock::CallClock() {
  CallsUnderWay& all = calls_under_way();
  const std::lock_guard lock(all.mutex);
  const auto own = own_call(all);
  if (own != all.calls.end())
    ++own->depth;
  else
    all.calls.push_back({std::this_thread::get_id(), std::chrono::steady_clock::now(), 1});
}

CallClock::~CallClock() {
  CallsUnderWay& all = calls_under_way();
  const std::lock_guard lock(all.mutex);
  const auto own = own_call(all);
  if (own != all.calls.end() && --own->depth == 0) all.calls.erase(own);
}

std::optional<Time> CallClock::end() {
  if (is_cancelled()) return std::chrono::steady_clock::now();
  const double seconds = limits().timeout;
  if (!(seconds > 0)) return std::nullopt;
  CallsUnderWay& all = calls_under_way();
  const std::lock_guard lock(all.mutex);
  const auto own = own_call(all);
  if (own != all.calls.end()) return after_seconds(own->begun, seconds);
  return after_seconds(all.calls.empty() ? std::chrono::steady_clock::now() : all.calls.back().begun, seconds);
}

bool CallClock::is_over() {
  const std::optional<Time> at = end();
  return at && std::chrono::steady_clock::now() >= *at;
}

Time after_seconds(Time begin, double seconds) {
  constexpr double kMost = 1e8;
  const std::chrono::duration<double> left(std::min(seconds, kMost));
  return begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
}

}  // namespace thaw
