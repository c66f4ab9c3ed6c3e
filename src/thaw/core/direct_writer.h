// Long sequential output past the system's cache.
//
// Gigabytes of weights that are written once and not read soon gain nothing from the page cache, and filling it costs
// more than the disk does. A DirectWriter gathers what is written into large aligned blocks and hands these to the disk
// (O_DIRECT). Where the file system does not take that (tmpfs), it writes as usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace thaw {

class DirectWriter {
 public:
  // The file is open for writing and `offset` bytes long, a multiple of kAlignment.
  DirectWriter(int fd, uint64_t offset);
  DirectWriter(const DirectWriter&) = delete;
  DirectWriter& operator=(const DirectWriter&) = delete;

  // Both return false with errno set where the disk refuses.
  bool write(std::span<const std::byte> bytes);
  // Writes what is left and leaves the file as any other, positioned at its end. Nothing may follow.
  bool finish();

  static constexpr uint64_t kAlignment = 4096;

 private:
  bool put(size_t size);
  void leave_direct();

  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  int fd_;
  uint64_t offset_;  // of the block
  size_t filled_ = 0;
  bool direct_ = false;
  std::unique_ptr<std::byte, Free> block_;
};

}  // namespace thaw
