#include "thaw/core/memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include <sys/resource.h>

// The sanitizers' own maps count too, terabytes of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THAW_UNBOUNDED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define THAW_UNBOUNDED
#endif
#endif

namespace thaw {
namespace {

// The number after `name` in a file of names and numbers.
std::optional<uint64_t> number_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  uint64_t number = 0;
  while (file >> word) {
    if (word == name && file >> number) return number;
  }
  return std::nullopt;
}

std::optional<uint64_t> first_number(const char* path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;  // "max": no limit
}

struct OwnBound {
  rlim_t before, now;
};
std::optional<OwnBound> own_bound;  // set once, before there are threads

void set_bound(rlim_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = bytes;
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
}

// Pages of files that a group holds can be taken from it.
std::optional<uint64_t> left_to_group() {
  const auto limit = first_number("/sys/fs/cgroup/memory.max");
  const auto used = first_number("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::nullopt;
  const uint64_t files = number_in("/sys/fs/cgroup/memory.stat", "file").value_or(0);
  const uint64_t kept = *used - std::min(*used, files);
  return *limit - std::min(*limit, kept);
}

}  // namespace

std::optional<uint64_t> available_memory() {
  auto left = number_in("/proc/meminfo", "MemAvailable:");
  if (left) *left *= 1024;
  if (const auto group = left_to_group()) left = std::min(left.value_or(*group), *group);
  return left;
}

uint64_t held_memory() {
  constexpr const char* kStatus = "/proc/self/status";
  return 1024 * (number_in(kStatus, "RssAnon:").value_or(0) + number_in(kStatus, "RssShmem:").value_or(0));
}

void bound_memory(uint64_t bytes) {
#ifndef THAW_UNBOUNDED
  if (own_bound) return;
  constexpr uint64_t kLeast = uint64_t{256} << 20;
  constexpr uint64_t kStack = uint64_t{8} << 20, kMostStacks = 256;
  // What the system counts is what may be written to, touched or not.
  const uint64_t held = 1024 * number_in("/proc/self/status", "VmData:").value_or(0);
  const uint64_t stacks = kStack * std::min<uint64_t>(std::thread::hardware_concurrency() + 2, kMostStacks);
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min<uint64_t>(before, held + stacks + std::max(bytes, kLeast));
  if (::setrlimit(RLIMIT_DATA, &limit) == 0) own_bound = OwnBound{.before = before, .now = limit.rlim_cur};
#endif
}

GivenBound::GivenBound() {
  if (own_bound) set_bound(own_bound->before);
}
GivenBound::~GivenBound() {
  if (own_bound) set_bound(own_bound->now);
}

}  // namespace thaw

#undef THAW_UNBOUNDED
