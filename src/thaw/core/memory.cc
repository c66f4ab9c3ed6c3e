#include "thaw/core/memory.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "thaw/core/sanitized.h"
#include "thaw/limits.h"

namespace thaw {
namespace {

constexpr size_t kMostText = size_t{1} << 16;  // of such a file

UniqueFd opened(const char* path) { return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)); }

// What the system says there at this moment.
std::istringstream text_of(const UniqueFd& file) {
  std::string text(kMostText, '\0');
  const ssize_t got = file ? ::pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return std::istringstream(std::move(text));
}

// The number after `name` in a file of names and numbers.
std::optional<uint64_t> number_in(const UniqueFd& file, const std::string& name) {
  std::istringstream text = text_of(file);
  std::string word;
  uint64_t number = 0;
  while (text >> word) {
    if (word == name && text >> number) return number;
  }
  return std::nullopt;
}

std::optional<uint64_t> first_number(const UniqueFd& file) {
  std::istringstream text = text_of(file);
  uint64_t number = 0;
  return text >> number ? std::optional(number) : std::nullopt;  // "max": no limit
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

}  // namespace

AvailableMemory::AvailableMemory()
    : system_(opened("/proc/meminfo")),
      group_limit_(opened("/sys/fs/cgroup/memory.max")),
      group_used_(opened("/sys/fs/cgroup/memory.current")),
      group_parts_(opened("/sys/fs/cgroup/memory.stat")) {}

std::optional<uint64_t> AvailableMemory::now() const {
  auto left = number_in(system_, "MemAvailable:");
  if (left) *left *= 1024;
  const auto limit = first_number(group_limit_), used = first_number(group_used_);
  if (!limit || !used) return left;
  // Pages of files that a group holds can be taken from it.
  const uint64_t files = number_in(group_parts_, "file").value_or(0);
  const uint64_t kept = *used - std::min(*used, files);
  const uint64_t group = *limit - std::min(*limit, kept);
  return std::min(left.value_or(group), group);
}

std::optional<uint64_t> available_memory() { return AvailableMemory().now(); }

std::optional<uint64_t> memory_to_take() {
  const uint64_t limit = limits().max_memory;
  const auto left = available_memory();
  return limit > 0 ? std::min(limit, left.value_or(limit)) : left;
}

uint64_t held_memory() {
  const UniqueFd status = opened("/proc/self/status");
  return 1024 * (number_in(status, "RssAnon:").value_or(0) + number_in(status, "RssShmem:").value_or(0));
}

void bound_memory(uint64_t bytes) {
  // The sanitizers' own maps count too, terabytes of them.
  if (kSanitized || own_bound) return;
  constexpr uint64_t kLeast = uint64_t{256} << 20;
  constexpr uint64_t kStack = uint64_t{8} << 20, kMostStacks = 256;
  // What the system counts is what may be written to, touched or not.
  const uint64_t held = 1024 * number_in(opened("/proc/self/status"), "VmData:").value_or(0);
  const uint64_t stacks = kStack * std::min<uint64_t>(std::thread::hardware_concurrency() + 2, kMostStacks);
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min<uint64_t>(before, held + stacks + std::max(bytes, kLeast));
  if (::setrlimit(RLIMIT_DATA, &limit) == 0) own_bound = OwnBound{.before = before, .now = limit.rlim_cur};
}

GivenBound::GivenBound() {
  if (own_bound) set_bound(own_bound->before);
}
GivenBound::~GivenBound() {
  if (own_bound) set_bound(own_bound->now);
}

}  // namespace thaw
