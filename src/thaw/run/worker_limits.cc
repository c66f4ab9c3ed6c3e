#include "thaw/run/worker_limits.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "thaw/core/sanitized.h"

namespace thaw::run {
namespace {

constexpr uint64_t kLeastMargin = uint64_t{256} << 20;
constexpr uint64_t kMarginShare = 16;

}  // namespace

MemoryLimit::MemoryLimit() : sizes_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {
  rlimit now{};
  given_ = ::getrlimit(RLIMIT_DATA, &now) == 0 ? now.rlim_cur : RLIM_INFINITY;
  static_assert(RLIM_INFINITY == UINT64_MAX);
}

// Bytes that count for RLIMIT_DATA.
uint64_t MemoryLimit::data_bytes() const {
  std::array<char, 256> text{};
  const ssize_t got = ::pread(sizes_.get(), text.data(), text.size(), 0);
  std::istringstream numbers(std::string(text.data(), got > 0 ? static_cast<size_t>(got) : 0));
  uint64_t pages = 0;
  for (int field = 0; field < 6; ++field) numbers >> pages;
  return numbers ? pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
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
    bytes_ = max_memory - std::min(max_memory, shared_);
  } else if (const auto left = available_.now()) {
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

void MemoryLimit::add_shared(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  shared_ += bytes;
  if (wanted_ != 0) set_locked(wanted_);
}

void MemoryLimit::remove_shared(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  shared_ -= bytes;
  if (wanted_ != 0) set_locked(wanted_);
}

uint64_t MemoryLimit::bytes() const {
  const std::lock_guard lock(mutex_);
  return std::min(bytes_, given_);
}

void MemoryLimit::apply() {
  if (kSanitized) return;  // the sanitizers' own maps are data too, terabytes of them
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const uint64_t wanted = bytes_ > UINT64_MAX - unused_ ? UINT64_MAX : bytes_ + unused_;
  limit.rlim_cur = std::min({wanted, given_, static_cast<uint64_t>(limit.rlim_max)});
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
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
