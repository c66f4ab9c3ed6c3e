// A regular file, mapped read-only.
//
// Nothing is read until its bytes are touched. The mapping is private and outlives the file's name: replacing the file
// by rename leaves the mapped bytes as they were. A file that another process shortens in place while it is mapped
// makes reads past its new end fail with SIGBUS, as with any mapping; the command says so then (cli/shrunk_files.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "thaw/core/fd.h"

namespace thaw {

class MappedFile {
 public:
  // Throws thaw::Error when the file is missing, cannot be read, or is not a regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  // The same for a descriptor that is open for reading; `name` is for messages.
  static std::shared_ptr<const MappedFile> map(UniqueFd fd, std::string name);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  const std::string& name() const { return name_; }
  int fd() const { return fd_.get(); }

  // Which file it is, whatever it is called.
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }

 private:
  MappedFile() = default;
  UniqueFd fd_;
  std::string name_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  uint64_t device_ = 0, inode_ = 0;
};

// Gives back the memory behind a view on a mapped file, so that walking over large weights stays small; touching the
// bytes again reads them again. Bytes that no MappedFile holds are left alone.
void release_pages(std::span<const std::byte> bytes);

// Whether both are the same. Of mapped files no more than a chunk of each is held in memory.
bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b);

// Throws thaw::Error where a file that is mapped was written to since: what was made of it may be of two minds. Files that were
// only looked at (ReadFiles::Pause) do not count.
void require_mapped_unchanged();

// The name of the mapped file that holds an address; null where none does, or where the mappings are changing. For a
// signal handler: it waits for nothing and allocates nothing.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace thaw
