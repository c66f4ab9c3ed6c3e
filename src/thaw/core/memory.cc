#include "thaw/core/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

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

}  // namespace thaw
