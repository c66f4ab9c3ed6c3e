// Long sequential output past the system's cache.
//
// Gigabytes of weights that are written once and not read soon gain nothing from the page cache, and filling it costs
// more than the disk does. A DirectWriter gathers what is written into large aligned blocks and hands these to the disk
// (O_DIRECT), one while the next is gathered. Where the file system does not take that (tmpfs), it writes as usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <span>

namespace thaw {

class DirectWriter {
 public:
  // The file is open for writing and `offset` bytes long, a multiple of kAlignment.
  DirectWriter(int fd, uint64_t offset);
  DirectWriter(const DirectWriter&) = delete;
  DirectWriter& operator=(const DirectWriter&) = delete;
  ~DirectWriter();

  // Both return false with errno set where the disk refuses.
  bool write(std::span<const std::byte> bytes);
  // Writes what is left and leaves the file as any other, positioned at its end. Nothing may follow.
  bool finish();

  static constexpr uint64_t kAlignment = 4096;

 private:
  bool put(const std::byte* block, size_t size);
  bool put_beside(size_t size);
  bool wait();
  void leave_direct();

  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  int fd_;
  uint64_t offset_;  // of what is put next
  size_t filled_ = 0;
  bool direct_ = false;
  std::unique_ptr<std::byte, Free> block_, other_;  // gathered, and put beside
  std::future<int> put_;                            // of the other block: errno, 0 where all is well
};

}  // namespace thaw
