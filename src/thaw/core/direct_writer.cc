#include "thaw/core/direct_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace thaw {
namespace {

constexpr size_t kBlock = size_t{8} << 20;

}  // namespace

DirectWriter::DirectWriter(int fd, uint64_t offset)
    : fd_(fd),
      offset_(offset),
      block_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kBlock))),
      other_(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kBlock))) {
  if (!block_ || !other_) throw std::bad_alloc();
  const int flags = ::fcntl(fd_, F_GETFL);
  direct_ = flags >= 0 && ::fcntl(fd_, F_SETFL, flags | O_DIRECT) == 0;
}

DirectWriter::~DirectWriter() { wait(); }

// What is put beside is on the disk, or errno says why not.
bool DirectWriter::wait() {
  if (!put_.valid()) return true;
  const int failed = put_.get();
  if (failed != 0) errno = failed;
  return failed == 0;
}

bool DirectWriter::put_beside(size_t size) {
  if (!wait()) return false;
  std::swap(block_, other_);
  try {
    put_ = std::async(std::launch::async, [this, size] { return put(other_.get(), size) ? 0 : errno; });
  } catch (const std::system_error&) {  // no thread is to be had
    return put(other_.get(), size);
  }
  return true;
}

void DirectWriter::leave_direct() {
  if (const int flags = ::fcntl(fd_, F_GETFL); flags >= 0) static_cast<void>(::fcntl(fd_, F_SETFL, flags & ~O_DIRECT));
  direct_ = false;
}

// Writes the first bytes of a block at the offset.
bool DirectWriter::put(const std::byte* block, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t written = ::pwrite(fd_, block + done, size - done, static_cast<off_t>(offset_ + done));
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno != EINVAL || !direct_) return false;
      leave_direct();  // taken when it was set, and refused when it was used
      continue;
    }
    done += static_cast<size_t>(written);
    // A short write may end anywhere: what follows is no longer aligned.
    if (done < size && direct_) leave_direct();
  }
  offset_ += size;
  return true;
}

bool DirectWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kBlock - filled_);
    std::memcpy(block_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ < kBlock) return true;
    filled_ = 0;
    if (!put_beside(kBlock)) return false;
  }
  return true;
}

bool DirectWriter::finish() {
  const size_t whole = filled_ / kAlignment * kAlignment, rest = filled_ - whole;
  filled_ = 0;
  if (!wait() || !put(block_.get(), whole)) return false;
  leave_direct();
  std::memmove(block_.get(), block_.get() + whole, rest);
  return put(block_.get(), rest) && ::lseek(fd_, static_cast<off_t>(offset_), SEEK_SET) >= 0;
}

}  // namespace thaw
