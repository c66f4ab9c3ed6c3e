#include "thaw/core/read_ahead.h"

#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace thaw {

void read_ahead(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()), from = begin & ~(page - 1);
  // Advice: where it is refused, pages are read as they are touched.
  static_cast<void>(::madvise(reinterpret_cast<void*>(from), begin + bytes.size() - from, MADV_WILLNEED));
}

}  // namespace thaw
