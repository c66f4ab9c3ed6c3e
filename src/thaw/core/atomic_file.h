// A file that appears whole or not at all.
//
// What is written goes to a temporary file in the same folder; publish() flushes it to the disk and renames it over the
// target. Until then, and when the AtomicFile dies unpublished, the target is as it was. A target that is a symbolic
// link or no regular file is refused; an existing file's permissions are kept. All failures throw thaw::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "thaw/core/direct_writer.h"
#include "thaw/core/fd.h"

namespace thaw {

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  uint64_t size() const { return size_; }
  // Says that much follows that is not read again soon: it goes to the disk past the system's cache where that is
  // possible (direct_writer.h). The file must be empty.
  void expect_bulk();
  void write(std::span<const std::byte> bytes);
  void pad_to(uint64_t alignment);  // with zeros, which take no place on the disk where the file system can leave holes
  // Appends a range of another file, holes as holes, without it passing through this process where the system can do
  // so.
  void append(int fd, uint64_t offset, uint64_t size, const std::string& source);

  // Flushes to the disk. For several files that belong together: flush all, then publish all.
  void flush();
  void publish();

 private:
  [[noreturn]] void fail(const char* what) const;
  void copy(int fd, uint64_t offset, uint64_t size, const std::string& source);
  void seek_end();
  void end_bulk();

  std::filesystem::path path_;
  std::string temporary_;  // its name in the folder; empty once published
  UniqueFd folder_, fd_;
  uint64_t size_ = 0;
  std::unique_ptr<DirectWriter> bulk_;  // between expect_bulk and the end of what it was for
  bool flushed_ = false;
};

}  // namespace thaw
