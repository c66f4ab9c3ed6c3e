#include "thaw/core/phase.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace thaw {
namespace {

using PhaseClock = std::chrono::steady_clock;

struct OpenPhase {
  const char* name;
  PhaseClock::time_point resumed;
};

struct PhaseLog {
  std::thread::id owner;
  std::vector<OpenPhase> open;
  std::vector<PhaseTime> times;
};

std::atomic<const char*> innermost{nullptr};
std::atomic<PhaseLog*> only{nullptr};

// Never destroyed: phases may end while the process does.
PhaseLog& phase_log() {
  static PhaseLog& log = [&]() -> PhaseLog& {
    auto* made = new PhaseLog;
    made->owner = std::this_thread::get_id();
    only = made;
    return *made;
  }();
  return log;
}

PhaseTime& time_of(PhaseLog& log, std::string_view name) {
  const auto found = std::ranges::find(log.times, name, &PhaseTime::name);
  return found != log.times.end() ? *found : log.times.emplace_back(PhaseTime{name});
}

void pause(PhaseLog& log, PhaseClock::time_point now) {
  if (log.open.empty()) return;
  const OpenPhase& last = log.open.back();
  time_of(log, last.name).seconds += std::chrono::duration<double>(now - last.resumed).count();
}

}  // namespace

Phase::Phase(const char* name) : counts_(phase_log().owner == std::this_thread::get_id()) {
  if (!counts_) return;
  PhaseLog& log = phase_log();
  const PhaseClock::time_point now = PhaseClock::now();
  pause(log, now);
  ++time_of(log, name).count;
  log.open.push_back({name, now});
  innermost = name;
}

Phase::~Phase() {
  if (!counts_) return;
  PhaseLog& log = phase_log();
  const PhaseClock::time_point now = PhaseClock::now();
  pause(log, now);
  log.open.pop_back();
  if (!log.open.empty()) log.open.back().resumed = now;
  innermost = log.open.empty() ? nullptr : log.open.back().name;
}

std::vector<PhaseTime> phase_times() {
  const PhaseLog* log = only;
  return log == nullptr ? std::vector<PhaseTime>() : log->times;
}

const char* current_phase() { return innermost; }

}  // namespace thaw
