#include "thaw/cli/large_pages.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace thaw::cli {

#if defined(__GLIBC__)

void prefer_large_pages() {
  constexpr int kHeap = 64 << 20;  // by which the heap grows; taken from the system as it is touched
  constexpr size_t kBlock = size_t{96} << 10;
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  if (::mallopt(M_TOP_PAD, kHeap) != 1) return;
  // It grows when what is left of it does not do, which is little at the start.
  void* const before = ::sbrk(0);
  std::array<void*, 4> blocks{};
  for (void*& block : blocks) {
    block = std::malloc(kBlock);
    if (::sbrk(0) != before) break;
  }
  for (void* block : blocks) std::free(block);
  const auto begin = (reinterpret_cast<uintptr_t>(before) + kPage - 1) / kPage * kPage;
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  if (end > begin) static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

#else

void prefer_large_pages() {}

#endif

}  // namespace thaw::cli
