#include "thaw/limits.h"

#include <mutex>

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

}  // namespace thaw
