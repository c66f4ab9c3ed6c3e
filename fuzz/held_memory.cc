#include "held_memory.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <sanitizer/allocator_interface.h>

namespace thaw_fuzz {
namespace {

std::atomic<bool> counts = false;
std::atomic<int64_t> held = 0, most_allowed = 0;

void taken(const volatile void* location, size_t) {
  if (!counts) return;
  const auto size = static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(location)));
  const int64_t now = held.fetch_add(size) + size;
  if (now <= most_allowed) return;
  counts = false;
  std::fprintf(stderr, "held %lld bytes at a time, of %lld; the last were %lld\n", static_cast<long long>(now),
               static_cast<long long>(most_allowed.load()), static_cast<long long>(size));
  std::abort();
}

void given_back(const volatile void* location) {
  if (!counts || location == nullptr) return;
  held -= static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(location)));
}

}  // namespace

HeldMemory::HeldMemory(int64_t most) {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(taken, given_back);
  if (installed == 0) std::abort();
  held = 0;
  most_allowed = most;
  counts = true;
}

HeldMemory::~HeldMemory() { counts = false; }

}  // namespace thaw_fuzz
