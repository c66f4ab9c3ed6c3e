#include "thaw/limits.h"

#include <mutex>

#include "thaw/core/cancel.h"

namespace thaw {
namespace {

std::mutex limits_mutex;
Limits limits_of_process;

}  // namespace

void set_limits(const Limits& limits) {
  const std::lock_guard lock(limits_mutex);
  limits_of_process = limits;
}

Limits limits() {
  const std::lock_guard lock(limits_mutex);
  return limits_of_process;
}

void set_cancelled(bool cancelled) { core::calls_are_cancelled = cancelled; }

const char* Cancelled::what() const noexcept { return "the call was cancelled"; }

void core::throw_cancelled() { throw Cancelled(); }

}  // namespace thaw
