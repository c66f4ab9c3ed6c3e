#include "thaw/limits.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include <tbb/global_control.h>
#include <tbb/info.h>

#include "thaw/core/cancel.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/core/threads.h"

namespace thaw {
namespace {

ForkMutex& limits_mutex() {
  static auto& mutex = *new ForkMutex;
  return mutex;
}

Limits limits_of_process;  // guarded by it

// Of TBB's algorithms too, wherever they are called. Never destroyed: threads may be at work when the process ends.
void bound_threads(uint32_t most) {
  static auto& control = *new std::unique_ptr<tbb::global_control>;
  control.reset();
  if (most > 0) control = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, most);
}

}  // namespace

void set_limits(const Limits& limits) {
  const std::lock_guard lock(limits_mutex());
  if (limits.threads != limits_of_process.threads) bound_threads(limits.threads);
  limits_of_process = limits;
}

int threads_at_once() {
  const int cores = std::max(1, tbb::info::default_concurrency());
  const uint32_t most = limits().threads;
  return most == 0 ? cores : static_cast<int>(std::min<uint32_t>(most, static_cast<uint32_t>(cores)));
}

Limits limits() {
  const std::lock_guard lock(limits_mutex());
  return limits_of_process;
}

void set_cancelled(bool cancelled) { core::calls_are_cancelled = cancelled; }

const char* Cancelled::what() const noexcept { return "the call was cancelled"; }

void core::throw_cancelled() { throw Cancelled(); }

}  // namespace thaw
