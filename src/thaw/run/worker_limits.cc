#include "thaw/run/worker_limits.h"

#include <algorithm>
#include <fstream>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "thaw/core/memory.h"

// The sanitizers' own maps are data too, terabytes of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THAW_UNLIMITED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define THAW_UNLIMITED
#endif
#endif

namespace thaw::run {
namespace {

constexpr uint64_t kLeastMargin = uint64_t{256} << 20;
constexpr uint64_t kMarginShare = 16;

// Bytes that count for RLIMIT_DATA.
uint64_t data_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  for (int field = 0; field < 6; ++field) file >> pages;
  return file ? pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

MemoryLimit::MemoryLimit() {
  rlimit now{};
  given_ = ::getrlimit(RLIMIT_DATA, &now) == 0 ? now.rlim_cur : RLIM_INFINITY;
  static_assert(RLIM_INFINITY == UINT64_MAX);
}

void MemoryLimit::set(uint64_t max_memory) {
  const std::lock_guard lock(mutex_);
  set_locked(max_memory);
}

void MemoryLimit::follow(uint64_t max_memory) {
  const std::lock_guard lock(mutex_);
  if (max_memory != wanted_) set_locked(max_memory);
}

void MemoryLimit::set_locked(uint64_t max_memory) {
  wanted_ = max_memory;
  if (max_memory != 0) {
    bytes_ = max_memory;
  } else if (const auto left = available_memory()) {
    const uint64_t margin = std::max(kLeastMargin, *left / kMarginShare);
    bytes_ = data_bytes() + *left - std::min(*left, margin);
  } else {
    bytes_ = UINT64_MAX;
  }
  apply();
}

void MemoryLimit::add_unused(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  unused_ += bytes;
  apply();
}

void MemoryLimit::remove_unused(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  unused_ -= bytes;
  apply();
}

uint64_t MemoryLimit::bytes() const {
  const std::lock_guard lock(mutex_);
  return std::min(bytes_, given_);
}

void MemoryLimit::apply() {
#ifndef THAW_UNLIMITED
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const uint64_t wanted = bytes_ > UINT64_MAX - unused_ ? UINT64_MAX : bytes_ + unused_;
  limit.rlim_cur = std::min({wanted, given_, static_cast<uint64_t>(limit.rlim_max)});
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
#endif
}

uint64_t thread_stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (::pthread_getattr_default_np(&attributes) == 0) {
    ::pthread_attr_getstacksize(&attributes, &bytes);
    ::pthread_attr_destroy(&attributes);
  }
  return bytes;
}

}  // namespace thaw::run

#undef THAW_UNLIMITED
