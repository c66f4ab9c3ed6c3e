// Memory that two processes see: arrays go through it, so that a message holds only where they lie. One writes, the other
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "thaw/core/fd.h"

namespace thaw::run {

// How much of it may wait for the next run, on either side.
inline constexpr uint64_t kKeptMemory = uint64_t{64} << 20;

// Of the process that writes. It is written as a file is, which costs neither the zeroing nor the faults of fresh pages.
class SharedFile {
 public:
  SharedFile() = default;
  // Of at least `size` bytes. Here and in `write`, a thaw::Error (kOutOfBudget) where there is no memory.
  explicit SharedFile(uint64_t size);

  void write(uint64_t offset, std::span<const std::byte> bytes);
  uint64_t size() const { return size_; }
  int fd() const { return file_.get(); }

 private:
  UniqueFd file_;
  uint64_t size_ = 0;
};

// Of the process that reads: mapped.
class SharedView {
 public:
  SharedView() = default;
  // Throws thaw::Error unless it is memory that can no longer shrink.
  explicit SharedView(UniqueFd file);
  SharedView(SharedView&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  SharedView& operator=(SharedView&& other) noexcept;
  SharedView(const SharedView&) = delete;
  SharedView& operator=(const SharedView&) = delete;
  ~SharedView() { unmap(); }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void unmap();

  std::span<std::byte> bytes_;
};

}  // namespace thaw::run
